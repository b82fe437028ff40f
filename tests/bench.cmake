# bench.cmake - programs that measure; built with the tests so that they stay true, run by hand.
add_executable(gains ${CMAKE_CURRENT_SOURCE_DIR}/bench/gains.c)
target_compile_definitions(gains PRIVATE _POSIX_C_SOURCE=200809L)
target_link_libraries(gains PRIVATE motley motley_flags)
