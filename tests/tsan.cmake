# tsan.cmake - ThreadSanitizer over what threads share and knows no device: those unit tests once more, compiled from these
# sources alone, and run one after the other by the test tsan_unit. Then the whole library, lanes at work on PoCL: tsan_train_*.
# The OpenCL drivers' own threads stay out of sight.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-fsanitize=thread")
check_c_source_compiles("int main(void) { return 0; }" MOTLEY_HAVE_TSAN)
unset(CMAKE_REQUIRED_FLAGS)

# Its hook of __tls_get_addr takes what lies before a driver's thread-local block for a header of glibc 2.19 whenever the
# block starts 16 bytes into a page, and ends the process with "failed to allocate" (google/sanitizers#1409): not asked for.
set(tsan_options "halt_on_error=1 exitcode=66 intercept_tls_get_addr=0")

if(MOTLEY_HAVE_TSAN AND NOT MOTLEY_SANITIZE)
    file(GLOB tsan_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/base/*.c ${PROJECT_SOURCE_DIR}/src/collective/*.c
        ${PROJECT_SOURCE_DIR}/src/data/*.c)
    list(APPEND tsan_sources ${PROJECT_SOURCE_DIR}/src/strategy/variables.c ${PROJECT_SOURCE_DIR}/src/optim/optim.c
        ${PROJECT_SOURCE_DIR}/src/optim/update_host.c)
    file(GLOB tsan_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_base_*.c
        ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_collective*.c ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_data*.c
        ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_variables.c)
    set(tsan_commands "")
    set(tsan_flags -fsanitize=thread -g -O2)
    add_library(tsan_rooms STATIC ${tsan_sources})
    target_include_directories(tsan_rooms PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_compile_definitions(tsan_rooms PUBLIC _POSIX_C_SOURCE=200809L)
    target_compile_options(tsan_rooms PUBLIC ${tsan_flags})
    target_link_options(tsan_rooms PUBLIC -fsanitize=thread)
    target_link_libraries(tsan_rooms PUBLIC motley_flags ZLIB::ZLIB Threads::Threads m)
    foreach(source IN LISTS tsan_tests)
        get_filename_component(name ${source} NAME_WE)
        add_executable(tsan_${name} ${source})
        target_include_directories(tsan_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
        target_link_libraries(tsan_${name} PRIVATE tsan_rooms PkgConfig::CMOCKA)
        list(APPEND tsan_commands $<TARGET_FILE:tsan_${name}>)
    endforeach()
    add_test(NAME tsan_unit COMMAND sh -c "for test in \"$@\"; do \"$test\" || exit 1; done" tsan ${tsan_commands})
    set_tests_properties(tsan_unit PROPERTIES LABELS unit ENVIRONMENT "TSAN_OPTIONS=${tsan_options}")

    if(MOTLEY_HAVE_POCL) # other drivers are loaded in a way that the sanitizer refuses
        set_source_files_properties(${MOTLEY_KERNEL_TABLE} PROPERTIES GENERATED TRUE)
        add_library(tsan_motley STATIC ${MOTLEY_SOURCES} ${MOTLEY_KERNEL_TABLE})
        add_dependencies(tsan_motley motley) # which makes the table
        target_include_directories(tsan_motley PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
        target_compile_definitions(tsan_motley PUBLIC _POSIX_C_SOURCE=200809L
            PRIVATE CL_TARGET_OPENCL_VERSION=120 CL_USE_DEPRECATED_OPENCL_1_2_APIS)
        target_compile_options(tsan_motley PUBLIC ${tsan_flags})
        target_link_options(tsan_motley PUBLIC -fsanitize=thread)
        target_link_libraries(tsan_motley PUBLIC motley_flags OpenCL::OpenCL ZLIB::ZLIB motley::jansson Threads::Threads m)
        if(MOTLEY_HAVE_CLBLAST)
            target_compile_definitions(tsan_motley PRIVATE MOTLEY_CLBLAST=1)
            target_link_libraries(tsan_motley PUBLIC motley::clblast)
        endif()
        foreach(source train/test_mirrored.c train/test_balance.c train/test_sent.c train/test_numbers.c train/test_accumulate.c
                train/test_streamed.c fault/test_agree.c fault/test_leave.c)
            get_filename_component(name ${source} NAME_WE)
            string(REPLACE "test_" "tsan_train_" name ${name})
            add_executable(${name} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
            target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
            target_link_libraries(${name} PRIVATE tsan_motley PkgConfig::CMOCKA)
            add_test(NAME ${name} COMMAND ${name})
            set_tests_properties(${name} PROPERTIES LABELS train ENVIRONMENT
                "TSAN_OPTIONS=${tsan_options} ignore_noninstrumented_modules=1;OCL_ICD_VENDORS=${MOTLEY_ICD_POCL}")
        endforeach()
        # The lanes' threads sum and update on the host.
        add_test(NAME tsan_train_central COMMAND tsan_train_accumulate)
        set_tests_properties(tsan_train_central PROPERTIES LABELS train ENVIRONMENT
            "TSAN_OPTIONS=${tsan_options} ignore_noninstrumented_modules=1;OCL_ICD_VENDORS=${MOTLEY_ICD_POCL};MOTLEY_TEST_STRATEGY=central")
    endif()
endif()
