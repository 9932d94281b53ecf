# SPDX-License-Identifier: GPL-2.0-only
"""conan.py RECIPE DIRECTORY: runs the recipe as Conan does, with what it uses of Conan. Packages into
DIRECTORY, and prints the version."""
import importlib.util
import os
import shutil
import sys
import types
from pathlib import Path


class ConanFile:
    """What Conan sets before it calls a recipe."""

    def __init__(self, recipe, directory):
        self.recipe_folder = os.path.dirname(os.path.abspath(recipe))
        self.export_sources_folder = os.path.join(directory, "sources")
        self.package_folder = os.path.join(directory, "package")
        self.info = types.SimpleNamespace(clear=lambda: None)
        self.settings = types.SimpleNamespace(get_safe=lambda name: "20")
        self.cpp_info = types.SimpleNamespace(set_property=lambda name, value: None)


def copy(_, pattern, src, dst):
    """Copies files that match, and their directories."""
    for file in Path(src).rglob(pattern) if "/" not in pattern else Path(src).glob(pattern.replace("*", "**/*")):
        if file.is_file():
            to = Path(dst, file.relative_to(src))
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, to)


def check_min_cppstd(_, version):
    """A profile has C++20."""
    assert version <= 20


def main(recipe, directory):
    """Calls what `conan create` calls."""
    for name, members in (("conan", {"ConanFile": ConanFile}), ("conan.tools", {}),
                          ("conan.tools.build", {"check_min_cppstd": check_min_cppstd}),
                          ("conan.tools.files", {"copy": copy, "load": lambda _, path: Path(path).read_text("utf-8")})):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)
    spec = importlib.util.spec_from_file_location("recipe", recipe)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    package = module.UserEvents(recipe, directory)
    for step in "set_version", "export_sources", "validate", "package", "package_id", "package_info":
        getattr(package, step)()
    print(package.version)


main(*sys.argv[1:])
