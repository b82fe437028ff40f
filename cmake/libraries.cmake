# libraries.cmake - libraries that CMake has no finder of its own for, found the same way by our
# build and by find_package(motley): motley_find(NAME) makes the target motley::NAME.
set(MOTLEY_HEADER_jansson jansson.h)
set(MOTLEY_HEADER_clblast clblast_c.h)

function(motley_find name)
    if(TARGET motley::${name})
        return()
    endif()
    find_path(MOTLEY_${name}_INCLUDE NAMES ${MOTLEY_HEADER_${name}})
    find_library(MOTLEY_${name}_LIBRARY NAMES ${name})
    mark_as_advanced(MOTLEY_${name}_INCLUDE MOTLEY_${name}_LIBRARY)
    if(MOTLEY_${name}_INCLUDE AND MOTLEY_${name}_LIBRARY)
        add_library(motley::${name} UNKNOWN IMPORTED)
        set_target_properties(motley::${name} PROPERTIES
            IMPORTED_LOCATION "${MOTLEY_${name}_LIBRARY}"
            INTERFACE_INCLUDE_DIRECTORIES "${MOTLEY_${name}_INCLUDE}")
    endif()
endfunction()
