# locale.cmake - a locale with decimal commas, made in the build folder, so that none need be here.
# All tests have LOCPATH set to that folder: setlocale(LC_ALL, "de_DE.UTF-8") works in each.
set(MOTLEY_LOCPATH ${PROJECT_BINARY_DIR}/locale)
set(MOTLEY_HAVE_LOCALE OFF)
find_program(MOTLEY_LOCALEDEF localedef)
mark_as_advanced(MOTLEY_LOCALEDEF)
if(MOTLEY_LOCALEDEF AND NOT EXISTS ${MOTLEY_LOCPATH}/de_DE.UTF-8/LC_NUMERIC)
    file(MAKE_DIRECTORY ${MOTLEY_LOCPATH})
    execute_process(COMMAND ${MOTLEY_LOCALEDEF} -i de_DE -f UTF-8 ${MOTLEY_LOCPATH}/de_DE.UTF-8
        OUTPUT_QUIET ERROR_QUIET)
endif()
if(EXISTS ${MOTLEY_LOCPATH}/de_DE.UTF-8/LC_NUMERIC)
    set(MOTLEY_HAVE_LOCALE ON)
else()
    message(STATUS "no locale with decimal commas could be made (Debian: locales)")
endif()
