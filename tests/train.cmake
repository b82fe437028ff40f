# train.cmake - training once more with other implementations of OpenCL and other kernels.
function(train_again name program)
    add_test(NAME ${name} COMMAND ${program})
    set_tests_properties(${name} PROPERTIES LABELS train ENVIRONMENT "${ARGN}")
endfunction()

if(MOTLEY_HAVE_POCL AND MOTLEY_HAVE_RUSTICL)
    set(all "OCL_ICD_VENDORS=${MOTLEY_ICD_ALL};RUSTICL_ENABLE=llvmpipe")
    train_again(test_vendors_two test_vendors "${all}"
        "MOTLEY_TEST_DEVICES=name:pthread*,name:llvmpipe*"
        "MOTLEY_TEST_PLATFORMS=2;MOTLEY_TEST_SMALL=1")
    train_again(test_central_two test_central "${all}"
        "MOTLEY_TEST_DEVICES=name:pthread*,name:llvmpipe*;MOTLEY_TEST_SMALL=1")
    if(MOTLEY_HAVE_OCLGRIND)
        train_again(test_vendors_three test_vendors "${all};MOTLEY_TEST_DEVICES=0,1,2"
            "MOTLEY_TEST_PLATFORMS=3")
    endif()
endif()

# Everything that is not about the cost of our own kernels.
if(MOTLEY_HAVE_CLBLAST)
    foreach(program test_mirrored test_gradients test_loop test_fit test_limits)
        train_again(${program}_clblast ${program} "MOTLEY_GEMM=clblast")
    endforeach()
endif()

# The same with the variables on the host.
foreach(program test_mirrored test_gradients test_loop test_fit test_trouble test_repeat
        test_accumulate)
    train_again(${program}_central ${program} "MOTLEY_TEST_STRATEGY=central")
endforeach()

# The real digits where they lie beside this tree or are named.
if(DEFINED ENV{MOTLEY_TEST_MNIST})
    set(mnist $ENV{MOTLEY_TEST_MNIST})
else()
    get_filename_component(mnist ${PROJECT_SOURCE_DIR}/../shared/data/mnist ABSOLUTE)
endif()
if(EXISTS ${mnist}/train-images-idx3-ubyte.gz OR EXISTS ${mnist}/train-images-idx3-ubyte)
    set_tests_properties(test_mnist PROPERTIES ENVIRONMENT "MOTLEY_TEST_MNIST=${mnist}")
else()
    message(STATUS "no MNIST: test_mnist learns drawn digits (MOTLEY_TEST_MNIST=FOLDER cmake ... names it)")
endif()

# Other roundings of the pool, other sizes of plans.
train_again(test_limits_copy test_limits "MOTLEY_STAGING=copy")
train_again(test_limits_gpu test_limits "MOTLEY_CLASS=gpu")
train_again(test_streamed_copy test_streamed "MOTLEY_STAGING=copy")
