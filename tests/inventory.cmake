# inventory.cmake - test_inventory once for each machine that the drivers at hand can play.
set(icd ${PROJECT_BINARY_DIR}/icd)

function(inventory_on machine)
    add_test(NAME inventory_on_${machine} COMMAND test_inventory)
    set_tests_properties(inventory_on_${machine} PROPERTIES LABELS device
        ENVIRONMENT "MOTLEY_TEST_MACHINE=${machine};${ARGN}")
endfunction()

inventory_on(none "OCL_ICD_VENDORS=${MOTLEY_ICD_NONE}")
file(REMOVE_RECURSE ${icd}/broken ${icd}/named_twice ${icd}/empty)
file(WRITE ${icd}/broken/broken.icd "/nowhere/libnothing.so\n")
inventory_on(broken "OCL_ICD_VENDORS=${icd}/broken")

if(MOTLEY_HAVE_POCL)
    inventory_on(pocl "OCL_ICD_VENDORS=${MOTLEY_ICD_POCL};POCL_DEVICES=pthread")
    inventory_on(two "OCL_ICD_VENDORS=${MOTLEY_ICD_POCL};POCL_DEVICES=pthread pthread")
    list(GET icd_pocl 0 first)
    configure_file(${first} ${icd}/named_twice/one.icd COPYONLY)
    configure_file(${first} ${icd}/named_twice/two.icd COPYONLY)
    inventory_on(named_twice "OCL_ICD_VENDORS=${icd}/named_twice;POCL_DEVICES=pthread")
endif()
if(MOTLEY_HAVE_POCL AND MOTLEY_HAVE_RUSTICL)
    file(COPY ${icd_pocl} ${icd_rusticl} DESTINATION ${icd}/empty)
    add_test(NAME inventory_on_empty COMMAND ${CMAKE_COMMAND} -E env --unset=RUSTICL_ENABLE
        MOTLEY_TEST_MACHINE=empty OCL_ICD_VENDORS=${icd}/empty POCL_DEVICES=pthread
        $<TARGET_FILE:test_inventory>)
    set_tests_properties(inventory_on_empty PROPERTIES LABELS device)
endif()
if(MOTLEY_HAVE_POCL AND MOTLEY_HAVE_RUSTICL AND MOTLEY_HAVE_OCLGRIND)
    inventory_on(all "OCL_ICD_VENDORS=${MOTLEY_ICD_ALL};RUSTICL_ENABLE=llvmpipe"
        "POCL_DEVICES=pthread")

    # Cards that are not here, played by a layer over those three.
    if(TARGET guise) # illwill.cmake
        foreach(play cards host sick)
            inventory_on(${play} "OCL_ICD_VENDORS=${MOTLEY_ICD_ALL};RUSTICL_ENABLE=llvmpipe"
                "POCL_DEVICES=pthread pthread;OPENCL_LAYERS=$<TARGET_FILE:guise>"
                "MOTLEY_GUISE=${play}")
        endforeach()
    endif()
endif()
