# calls.cmake - test_calls stands in front of OpenCL's library, which it opens by itself.
target_compile_definitions(test_calls PRIVATE MOTLEY_CLBLAST=$<BOOL:${MOTLEY_HAVE_CLBLAST}>)
target_link_libraries(test_calls PRIVATE OpenCL::OpenCL ${CMAKE_DL_LIBS})
if(NOT MOTLEY_HAVE_POCL)
    set_tests_properties(test_calls PROPERTIES DISABLED ON)
endif()
