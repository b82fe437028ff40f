# oclgrind.cmake - kernel tests once more on Oclgrind, a simulator that looks for races, accesses out of bounds,
# uninitialised values and misuse of the API. It exits 0 whatever it finds, so the log is what counts.
# motley_oclgrind_test(name program...): run these test programs there, on small sizes.
function(motley_oclgrind_test name)
    set(programs "")
    foreach(program IN LISTS ARGN)
        list(APPEND programs "$<TARGET_FILE:${program}>")
    endforeach()
    string(REPLACE ";" "|" programs "${programs}")
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} "-DPROGRAMS=${programs}" "-DCRASHING=dense|selftest|gemm|scan|update|step" -DICD=${MOTLEY_ICD_OCLGRIND}
        -DOUT=${PROJECT_BINARY_DIR}/oclgrind/${name} -P ${PROJECT_SOURCE_DIR}/tests/support/oclgrind_run.cmake)
    set_tests_properties(${name} PROPERTIES LABELS device TIMEOUT 300)
endfunction()

if(MOTLEY_HAVE_OCLGRIND)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/device/test_ops_*.c)
    set(programs "")
    foreach(source IN LISTS sources)
        get_filename_component(program ${source} NAME_WE)
        list(APPEND programs ${program})
    endforeach()
    motley_oclgrind_test(oclgrind_ops ${programs})
    # Norm, verdict and every rule; steps as a trainer makes them.
    motley_oclgrind_test(oclgrind_update test_update)
    motley_oclgrind_test(oclgrind_step test_step)
else()
    message(STATUS "Oclgrind not found: kernels are not checked for races and bounds (sh cmake/setup.sh --tests)")
endif()
