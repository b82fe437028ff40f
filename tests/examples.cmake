# examples.cmake - every program of examples/ is built against the library and run; what it prints
# last must be what it says it does.
function(motley_example name expected)
    if(NOT TARGET example_${name})
        add_executable(example_${name} ${PROJECT_SOURCE_DIR}/examples/${name}.c)
        target_link_libraries(example_${name} PRIVATE motley motley_flags)
    endif()
    add_test(NAME example_${name} COMMAND example_${name} ${ARGN})
    set_tests_properties(example_${name} PROPERTIES LABELS train
        PASS_REGULAR_EXPRESSION "${expected}")
endfunction()

motley_example(mirrored "Number of replicas: 2\nstep  1: loss.*over 16 samples.*step  7: loss [0-9.]+ over 4 samples.*step 21: loss [0-9.]+ over 4 samples" 0,0)
motley_example(unlike "of 256 rows.*epoch 3: loss [0-9.]+, test accuracy [0-9.]+ %.*replica 1: equal to the bit" 0/2)
motley_example(central "on each device: weights [0-9]+ KiB, gradients [0-9]+ KiB, state 0 KiB.*epoch 3: loss [0-9.]+, test accuracy 9[0-9.]+ %" 0/2)
