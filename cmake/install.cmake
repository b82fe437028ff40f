# install.cmake - what a program needs that uses the library: the archive, its headers,
# find_package(motley) and motley.pc. Both work wherever the tree is moved to.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/motley)

install(TARGETS motley EXPORT motley-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/motley DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
install(EXPORT motley-targets NAMESPACE motley:: DESTINATION ${package_dir})

string(REPLACE ";" " " MOTLEY_FOUND_LIBRARIES "${MOTLEY_FOUND_LIBRARIES}")
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/motley-config.cmake.in
    ${PROJECT_BINARY_DIR}/motley-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/motley-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/motley-config.cmake
    ${PROJECT_BINARY_DIR}/motley-config-version.cmake
    ${CMAKE_CURRENT_LIST_DIR}/libraries.cmake DESTINATION ${package_dir})

# A static archive brings its own libraries: pkg-config --static.
set(pc_requires "zlib, jansson")
if(MOTLEY_HAVE_CLBLAST)
    set(pc_libs "-lclblast -lOpenCL -pthread -lm")
else()
    set(pc_libs "-lOpenCL -pthread -lm")
endif()
file(RELATIVE_PATH pc_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/motley.pc.in ${PROJECT_BINARY_DIR}/motley.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/motley.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
