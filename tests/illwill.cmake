# illwill.cmake - the layer `guise` (tests/fault/guise.h), which makes the devices at hand look and
# behave like cards that are not here, and the tests that run behind it, label guise.
include(CheckIncludeFile)
set(CMAKE_REQUIRED_INCLUDES ${OpenCL_INCLUDE_DIRS})
check_include_file(CL/cl_layer.h MOTLEY_HAVE_LAYERS)
unset(CMAKE_REQUIRED_INCLUDES)

if(MOTLEY_HAVE_LAYERS)
    set(fault ${CMAKE_CURRENT_SOURCE_DIR}/fault)
    add_library(guise MODULE ${fault}/guise.c ${fault}/cards.c ${fault}/manners.c ${fault}/harm.c
        ${fault}/ulp.c)
    target_include_directories(guise PRIVATE ${OpenCL_INCLUDE_DIRS} ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_definitions(guise PRIVATE _POSIX_C_SOURCE=200809L)
    target_link_libraries(guise PRIVATE motley_flags Threads::Threads m)
    add_dependencies(test_faults guise)
    target_compile_definitions(test_faults PRIVATE FAULT_GUISE="$<TARGET_FILE:guise>")
endif()

# A test behind the layer: what its devices pretend to be, how they behave, and more variables.
# CLBlast, which most of these cards get by default, compiles long for them on a CPU: our tile
# computes, but in tests that wish for CLBlast or (MOTLEY_TEST_GEMM) expect it to be chosen.
function(guise_test name program cards manners)
    set(layer "OPENCL_LAYERS=$<TARGET_FILE:guise>;MOTLEY_GUISE=${cards};MOTLEY_ILL_WILL=${manners}")
    set(below "OCL_ICD_VENDORS=${MOTLEY_ICD_POCL};POCL_DEVICES=pthread pthread")
    set(gemm "MOTLEY_GEMM=tile")
    if("${ARGN}" MATCHES "MOTLEY_(TEST_)?GEMM=")
        set(gemm "")
    endif()
    if(NOT TEST ${name})
        add_test(NAME ${name} COMMAND ${program})
    endif()
    set_tests_properties(${name} PROPERTIES LABELS guise
        ENVIRONMENT "${below};${layer};${gemm};${ARGN}")
endfunction()

if(TARGET guise AND MOTLEY_HAVE_POCL)
    guise_test(test_guise test_guise "rx7900,rx7900@rusticl" "")
    guise_test(test_disguise test_disguise "rx7900,a770,rtx3060,uhd620,irisxe" ""
        "POCL_DEVICES=pthread pthread pthread pthread pthread")
    guise_test(test_harm test_harm "rx7900,a770" "")
    target_link_libraries(test_harm PRIVATE ${CMAKE_DL_LIBS})

    # Each card with every liberty that its driver may take. NVIDIA's copies from and to ordinary
    # memory block, though they say they do not; Intel's calls go to the kernel and return late;
    # memory shared with the host may be a copy.
    set(manners_rx7900 "nan,late=1,ulp")
    set(manners_a770 "nan,late=1,return_us=20,ulp")
    set(manners_rtx3060 "nan,late=1,ordinary,ulp")
    set(manners_uhd620 "nan,late=1,shadow,ulp")
    set(manners_irisxe "nan,late=1,shadow,return_us=20,ulp")
    # Left out:
    #   gemm_sets  is CLBlast's own, half a minute of compiling for each card; it runs without guise
    #   inventory  has plays of its own (inventory.cmake); test_disguise reads these cards
    #   mnist      test_cards has its task, on a pair; by CLBlast it is below
    #   tuned      what a choice is about is the same on all: one discrete, one integrated card below
    #   why        tells causes apart by times that a layer spoils; a fleet of its own below
    #   async, faults, harm, guise    go through drivers and layers of their own
    set(things gemm launch measure memory onnx ops_activation ops_add ops_dense ops_dropout
        ops_gather ops_loss ops_scan ops_selftest ops_softmax program stage store update)
    foreach(card rx7900 a770 rtx3060 uhd620 irisxe)
        set(manners "${manners_${card}}")
        foreach(thing IN LISTS things)
            guise_test(guise_${card}_${thing} test_${thing} ${card} "${manners}"
                "MOTLEY_TEST_SMALL=1;MOTLEY_TEST_DEVICES=0")
        endforeach()
        guise_test(guise_${card}_parts test_parts ${card} "${manners}" "MOTLEY_TEST_DEVICES=0")
        guise_test(guise_${card}_cards test_cards "${card},${card}" "${manners}"
            "MOTLEY_TEST_PAIR=0,1")
        foreach(thing accumulate central choice config fit left_out limits loop mirrored numbers
                repeat step streamed)
            guise_test(guise_${card}_${thing} test_${thing} ${card} "${manners}")
        endforeach()
        # Thousands of short transfers: a fiftieth of the delay.
        string(REPLACE "late=1" "late=0.02" hurried "${manners}")
        foreach(thing agree balance gradients sent)
            guise_test(guise_${card}_${thing} test_${thing} ${card} "${hurried}")
        endforeach()
        guise_test(guise_${card}_counts test_counts ${card} "${hurried}" "MOTLEY_TEST_SMALL=1")
        guise_test(guise_${card}_vendors test_vendors "${card},-" "${hurried}"
            "MOTLEY_TEST_DEVICES=0,1;MOTLEY_TEST_PLATFORMS=2;MOTLEY_TEST_SMALL=1")
        guise_test(guise_${card}_slow test_loop ${card} "${hurried},slow=3")
        # How many rows fit is exact where the host side is the device's own memory.
        guise_test(guise_${card}_trouble test_trouble ${card} "${manners}" "MOTLEY_STAGING=map")
    endforeach()

    foreach(card rx7900 uhd620)
        string(REPLACE "late=1" "late=0.02" hurried "${manners_${card}}")
        guise_test(guise_${card}_tuned test_tuned ${card} "${hurried}")
    endforeach()

    # Sums that a device has mapped, where mapped memory is a copy; and a card that allocates more
    # at once than a kernel counts.
    guise_test(guise_shadow_agree test_agree rx7900 "nan,shadow" "MOTLEY_STAGING=map")

    # CLBlast with the parameters it ships for these cards; where it fails our tile takes over.
    # Then chosen by nobody, as on the real card: launches and the names of kernels prove that it
    # computed. On the RTX 3060 its parameters pack no product as small as those of test_limits.
    if(MOTLEY_HAVE_CLBLAST)
        foreach(card rx7900 rtx3060)
            guise_test(guise_${card}_clblast test_ops_dense ${card} "nan"
                "MOTLEY_TEST_SMALL=1;MOTLEY_TEST_DEVICES=0;MOTLEY_GEMM=clblast")
            foreach(thing mirrored mnist)
                guise_test(guise_${card}_${thing}_clblast test_${thing} ${card}
                    "nan,late=0.02,ulp" "MOTLEY_TEST_GEMM=clblast")
            endforeach()
            guise_test(guise_${card}_counts_clblast test_counts ${card} "nan,late=0.02,ulp"
                "MOTLEY_TEST_GEMM=clblast;MOTLEY_TEST_SMALL=1")
        endforeach()
        guise_test(guise_rx7900_limits_clblast test_limits rx7900 "nan,late=0.02,ulp"
            "MOTLEY_TEST_GEMM=clblast")
    endif()

    # Fleets of several vendors; one device slow, one that blocks.
    guise_test(guise_fleet_amd_intel test_cards "rx7900,uhd620" "nan,late=0:1,shadow,ulp=0:1"
        "MOTLEY_TEST_PAIR=0,1")
    guise_test(guise_fleet_three test_vendors "rx7900,a770,rtx3060"
        "nan,late=0:1:1,shadow,ulp=1:0:1,slow=1:3:1" "POCL_DEVICES=pthread pthread pthread"
        "MOTLEY_TEST_DEVICES=0,1,2;MOTLEY_TEST_PLATFORMS=3;MOTLEY_TEST_SMALL=1")
    guise_test(guise_fleet_slow test_cards "rtx3060,a770" "slow=1:3,launch_us=20"
        "MOTLEY_TEST_PAIR=0,1")
    guise_test(guise_fleet_blocks test_cards "rtx3060,irisxe" "blocks=1:0,return_us=50"
        "MOTLEY_TEST_PAIR=0,1")
    guise_test(guise_fleet_balance test_balance "rtx3060,rtx3060" "slow=1:4" "MOTLEY_TEST_SLOW=1")
    set_tests_properties(guise_fleet_balance PROPERTIES RUN_SERIAL ON) # its devices' speeds count
    # What limits the speed, each cause by sleep, so that what a cure gives does not go by what else
    # the machine does: what each device takes alone is sleep, too.
    guise_test(guise_fleet_why test_why "rtx3060,rtx3060" "slow=1:6" "MOTLEY_TEST_LAYER=slow")
    guise_test(guise_fleet_leave test_why "rtx3060,rtx3060" "start_us=500:4000"
        "MOTLEY_TEST_LAYER=leave")
    guise_test(guise_fleet_launch test_why "rtx3060" "launch_us=5000" "MOTLEY_TEST_LAYER=launch")
    guise_test(guise_fleet_start test_why "rtx3060" "start_us=5000" "MOTLEY_TEST_LAYER=start")
    guise_test(guise_fleet_chance test_why "rtx3060,rtx3060,rtx3060,rtx3060" "chance_ms=10"
        "POCL_DEVICES=pthread pthread pthread pthread" "MOTLEY_TEST_LAYER=chance")
    guise_test(guise_fleet_link test_why "rtx3060,rtx3060" "launch_us=1000,link=0:0.002"
        "MOTLEY_TEST_LAYER=link")
    guise_test(guise_fleet_links test_why "rtx3060,rtx3060" "launch_us=1000,link=0.002"
        "MOTLEY_TEST_LAYER=links")
else()
    set_tests_properties(test_guise test_disguise test_harm PROPERTIES DISABLED ON)
endif()
