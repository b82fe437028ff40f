# vendors.cmake - every kernel through the compilers of the GPU vendors (tests/vendors.sh); what is
# known of them is kept in build/vendors, the table in build/vendors.txt.
add_executable(vendors_list ${CMAKE_CURRENT_SOURCE_DIR}/vendors/list.c)
target_include_directories(vendors_list PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(vendors_list PRIVATE _POSIX_C_SOURCE=200809L)
target_link_libraries(vendors_list PRIVATE motley motley_flags)
add_test(NAME vendors COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/vendors.sh ${PROJECT_SOURCE_DIR}
    ${PROJECT_BINARY_DIR}/vendors $<TARGET_FILE:vendors_list>)
set_tests_properties(vendors PROPERTIES LABELS vendors SKIP_RETURN_CODE 77 PROCESSORS 2
    TIMEOUT 1200)

# What the cards should reach (tests/vendors/predict.sh): its arithmetic, against figures by hand.
add_test(NAME predict COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/vendors/predict_test.sh
    ${CMAKE_CURRENT_SOURCE_DIR}/vendors ${PROJECT_BINARY_DIR}/predict)
set_tests_properties(predict PROPERTIES LABELS unit)

# Its sentences where a compiler is missing, and what it compiles again.
add_test(NAME vendors_cache COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/vendors/cache_test.sh
    ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/vendors_cache $<TARGET_FILE:vendors_list>)
set_tests_properties(vendors_cache PROPERTIES LABELS vendors)
