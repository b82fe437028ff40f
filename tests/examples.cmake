# examples.cmake - every program of examples/ is built against the library and run; it must end well,
# and what it prints must be what it says it does (support/example.cmake).
function(motley_example test name expected)
    cmake_parse_arguments(PARSE_ARGV 3 example "" "LIMIT" "ARGS")
    if(NOT TARGET example_${name})
        add_executable(example_${name} ${PROJECT_SOURCE_DIR}/examples/${name}.c)
        target_link_libraries(example_${name} PRIVATE motley motley_flags m)
    endif()
    set(limit "")
    if(DEFINED example_LIMIT)
        set(limit -DLIMIT=${example_LIMIT})
    endif()
    add_test(NAME example_${test} COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:example_${name}>
        "-DARGS=${example_ARGS}" "-DEXPECTED=${expected}" ${limit}
        -P ${CMAKE_CURRENT_SOURCE_DIR}/support/example.cmake)
    set_tests_properties(example_${test} PROPERTIES LABELS train)
endfunction()

motley_example(mirrored mirrored "Number of replicas: 2\nstep  1: loss.*over 16 samples.*step  7: loss [0-9.]+ over 4 samples.*step 21: loss [0-9.]+ over 4 samples" ARGS 0,0)
motley_example(mirrored_alone mirrored "Number of replicas: 1\nstep  1: loss.*over 16 samples.*step 21: loss [0-9.]+ over 4 samples" ARGS 0)
motley_example(unlike unlike "of 256 rows.*epoch 3: loss [0-9.]+, test accuracy [0-9.]+ %.*replica 1: equal to the bit" ARGS 0/2)
motley_example(central central "on each device: weights [0-9]+ KiB, gradients [0-9]+ KiB, state 0 KiB.*epoch 3: loss [0-9.]+, test accuracy 9[0-9.]+ %" ARGS 0/2)
motley_example(limits limits "opened, device 0: [0-9]+ KiB.*planned, device 0: [0-9]+ KiB of 2048 KiB: [0-9]+ micro-batches of [0-9]+, since 512 rows need.*trained, device 0: [0-9]+ KiB, at most [0-9]+ KiB.*loss [0-9.]+, then [0-9.]+" LIMIT 2048 ARGS 0,0 0=2M)
motley_example(accumulate accumulate "1 x 256 rows: loss ([0-9.]+) over 256 samples, 1 update\n4 x 64 rows: loss [0-9.]+ over 256 samples, 1 update\nafter ten updates no weight differs by more than 0.00001" ARGS 0,0)
