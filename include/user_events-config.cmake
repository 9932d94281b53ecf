# SPDX-License-Identifier: MIT
#
# find_package(user_events) defines the target user_events::user_events, for C++ and C.
get_filename_component(_user_events_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET user_events::user_events)
  add_library(user_events::user_events INTERFACE IMPORTED)
  set_target_properties(user_events::user_events PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_user_events_prefix}/include"
    INTERFACE_LINK_LIBRARIES -pthread)
  # A project of C programs has no C++ compiler.
  if(CMAKE_CXX_COMPILER_LOADED)
    target_compile_features(user_events::user_events INTERFACE cxx_std_20)
  endif()
endif()
unset(_user_events_prefix)
