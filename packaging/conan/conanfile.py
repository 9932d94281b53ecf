# SPDX-License-Identifier: MIT
"""The C++ library as a package of Conan 2: `conan create packaging/conan` in this source."""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load


class UserEvents(ConanFile):
    """Headers only."""

    name = "user_events"
    description = "Trace events of C++ and C programs, by Linux user_events"
    license = "MIT"
    topics = ("tracing", "linux", "header-only")
    package_type = "header-library"
    settings = "os", "compiler"
    no_copy_source = True

    def _source(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._source(), "include", "user_events", "version.h"))
        number = int(re.search(r"^#define USER_EVENTS_VERSION (\d+)$", text, re.M)[1])
        self.version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    def export_sources(self):
        copy(self, "include/*", src=self._source(), dst=self.export_sources_folder)

    def package_id(self):
        self.info.clear()

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)

    def package(self):
        include = os.path.join(self.package_folder, "include", "user_events")
        headers = os.path.join(self.export_sources_folder, "include")
        for pattern in "*.h", "*.hpp":
            copy(self, pattern, src=os.path.join(headers, "user_events"), dst=include)
        copy(self, "user_events_ext.h", src=os.path.join(headers, "uapi", "linux"), dst=include)

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("cmake_file_name", "user_events")
        self.cpp_info.set_property("cmake_target_name", "user_events::user_events")
        self.cpp_info.set_property("pkg_config_name", "user_events")
