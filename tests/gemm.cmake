# gemm.cmake - test_gemm compares with OpenBLAS where it is installed.
pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
if(OPENBLAS_FOUND)
    foreach(program test_gemm test_gemm_sets)
        target_link_libraries(${program} PRIVATE PkgConfig::OPENBLAS)
        target_compile_definitions(${program} PRIVATE MOTLEY_OPENBLAS=1)
    endforeach()
else()
    message(STATUS "OpenBLAS not found: GEMM is compared with plain C only (Debian: libopenblas-dev)")
endif()
foreach(program test_gemm test_gemm_sets)
    target_compile_definitions(${program} PRIVATE CL_TARGET_OPENCL_VERSION=120
        MOTLEY_CLBLAST=$<BOOL:${MOTLEY_HAVE_CLBLAST}>)
endforeach()
target_link_libraries(test_gemm_sets PRIVATE ${CMAKE_DL_LIBS})
# CLBlast and four transposes to compile, or four sets of parameters.
set_tests_properties(test_gemm test_gemm_sets PROPERTIES TIMEOUT 600)
