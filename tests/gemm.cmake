# gemm.cmake - test_gemm compares with OpenBLAS where it is installed.
pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
if(OPENBLAS_FOUND)
    target_link_libraries(test_gemm PRIVATE PkgConfig::OPENBLAS)
    target_compile_definitions(test_gemm PRIVATE MOTLEY_OPENBLAS=1)
else()
    message(STATUS "OpenBLAS not found: GEMM is compared with plain C only (Debian: libopenblas-dev)")
endif()
target_compile_definitions(test_gemm PRIVATE CL_TARGET_OPENCL_VERSION=120
    MOTLEY_CLBLAST=$<BOOL:${MOTLEY_HAVE_CLBLAST}>)
set_tests_properties(test_gemm PROPERTIES TIMEOUT 600) # CLBlast and four transposes to compile
