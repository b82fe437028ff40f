# optim.cmake - the update once more over every implementation at hand in one process: their bits are the host's, so
# each other's. Simulators get small sizes and are taken by index only.
if(MOTLEY_HAVE_RUSTICL AND MOTLEY_HAVE_OCLGRIND)
    add_test(NAME test_update_all COMMAND test_update)
    set_tests_properties(test_update_all PROPERTIES LABELS device
        ENVIRONMENT "OCL_ICD_VENDORS=${MOTLEY_ICD_ALL};RUSTICL_ENABLE=llvmpipe;MOTLEY_TEST_DEVICES=0,1,2;MOTLEY_TEST_SMALL=1;MOTLEY_TEST_PLATFORMS=3")
endif()
