# examples.cmake - every program of examples/ is built against the library and run; what it prints
# last must be what it says it does.
function(motley_example name expected)
    if(NOT TARGET example_${name})
        add_executable(example_${name} ${PROJECT_SOURCE_DIR}/examples/${name}.c)
        target_link_libraries(example_${name} PRIVATE motley motley_flags m)
    endif()
    add_test(NAME example_${name} COMMAND example_${name} ${ARGN})
    set_tests_properties(example_${name} PROPERTIES LABELS train
        PASS_REGULAR_EXPRESSION "${expected}")
endfunction()

motley_example(mirrored "Number of replicas: 2\nstep  1: loss.*over 16 samples.*step  7: loss [0-9.]+ over 4 samples.*step 21: loss [0-9.]+ over 4 samples" 0,0)
motley_example(unlike "of 256 rows.*epoch 3: loss [0-9.]+, test accuracy [0-9.]+ %.*replica 1: equal to the bit" 0/2)
motley_example(central "on each device: weights [0-9]+ KiB, gradients [0-9]+ KiB, state 0 KiB.*epoch 3: loss [0-9.]+, test accuracy 9[0-9.]+ %" 0/2)
motley_example(limits "opened, device 0: [0-9]+ KiB.*planned, device 0: [0-9]+ KiB of 2048 KiB: [0-9]+ micro-batches of [0-9]+, since 512 rows need.*trained, device 0: [0-9]+ KiB, at most [0-9]+ KiB.*loss [0-9.]+, then [0-9.]+" 0,0 0=2M)
motley_example(accumulate "1 x 256 rows: loss ([0-9.]+) over 256 samples, 1 update\n4 x 64 rows: loss [0-9.]+ over 256 samples, 1 update\nafter ten updates no weight differs by more than 0.00001" 0,0)
