# device.cmake - the device room's own tests once more over every implementation at hand in one
# process. Simulators get small sizes and are taken by index only.
if(MOTLEY_HAVE_POCL AND MOTLEY_HAVE_RUSTICL AND MOTLEY_HAVE_OCLGRIND)
    set(small "MOTLEY_TEST_DEVICES=0,1,2;MOTLEY_TEST_SMALL=1")
    foreach(thing memory stage launch)
        add_test(NAME test_${thing}_all COMMAND test_${thing})
        set_tests_properties(test_${thing}_all PROPERTIES LABELS device
            ENVIRONMENT "OCL_ICD_VENDORS=${MOTLEY_ICD_ALL};RUSTICL_ENABLE=llvmpipe;${small}")
    endforeach()
endif()
# It holds a queue by an event of its own.
target_compile_definitions(test_stage PRIVATE CL_TARGET_OPENCL_VERSION=120)
target_link_libraries(test_stage PRIVATE OpenCL::OpenCL)
