# build.cmake - tests of what is built and how: rooms, symbols, programs that use the installed
# library, the set-up script.
find_program(MOTLEY_SH sh)
mark_as_advanced(MOTLEY_SH)

function(motley_script_test name)
    add_test(NAME ${name} COMMAND ${MOTLEY_SH} ${CMAKE_CURRENT_SOURCE_DIR}/${ARGN})
    set_tests_properties(${name} PROPERTIES LABELS unit)
endfunction()

motley_script_test(style style.sh ${PROJECT_SOURCE_DIR})
motley_script_test(layers layers.sh ${PROJECT_SOURCE_DIR})
motley_script_test(layers_proof layers.sh --prove ${PROJECT_BINARY_DIR}/layers)
motley_script_test(setup_dry_run setup_dry_run.sh ${PROJECT_SOURCE_DIR}
    ${PROJECT_BINARY_DIR}/setup_dry_run)
if(NOT MOTLEY_SANITIZE) # a sanitizer adds names of its own
    motley_script_test(symbols symbols.sh $<TARGET_FILE:motley>)
endif()
motley_script_test(bare bare.sh ${PROJECT_SOURCE_DIR} ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR}/bare)

function(motley_consumer name program)
    motley_script_test(consumer_${name} consumer.sh ${program} ${CMAKE_COMMAND}
        ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/consumer_${name} ${ARGN})
    set_tests_properties(consumer_${name} PROPERTIES LABELS train)
    if(MOTLEY_SANITIZE)
        set_tests_properties(consumer_${name} PROPERTIES ENVIRONMENT
            "CFLAGS=-fsanitize=${MOTLEY_SANITIZE};CXXFLAGS=-fsanitize=${MOTLEY_SANITIZE}")
    endif()
endfunction()
motley_consumer(c ${CMAKE_CURRENT_SOURCE_DIR}/consumer/app.c)
motley_consumer(cpp ${CMAKE_CURRENT_SOURCE_DIR}/consumer/app.cpp)
set(fashion /usr/share/datasets/fashion-mnist)
if(EXISTS ${fashion})
    motley_consumer(example ${PROJECT_SOURCE_DIR}/examples/mnist.c ${fashion})
endif()
