# icd.cmake - folders of OpenCL drivers for tests, so that a developer's own drivers do not change
# results: build/icd/pocl, oclgrind, all (PoCL, rusticl, Oclgrind) and none. MOTLEY_TEST_ICD chooses
# the default for all tests.
set(MOTLEY_TEST_ICD "pocl" CACHE STRING "Drivers that tests see: pocl, all, or system")

foreach(set pocl oclgrind all none)
    string(TOUPPER ${set} upper)
    set(MOTLEY_ICD_${upper} ${PROJECT_BINARY_DIR}/icd/${set})
    file(REMOVE_RECURSE ${MOTLEY_ICD_${upper}})
    file(MAKE_DIRECTORY ${MOTLEY_ICD_${upper}})
endforeach()

file(GLOB icd_pocl /etc/OpenCL/vendors/pocl*.icd)
set(MOTLEY_HAVE_POCL OFF)
if(icd_pocl)
    set(MOTLEY_HAVE_POCL ON)
    file(COPY ${icd_pocl} DESTINATION ${MOTLEY_ICD_POCL})
    file(COPY ${icd_pocl} DESTINATION ${MOTLEY_ICD_ALL})
endif()

file(GLOB icd_rusticl /etc/OpenCL/vendors/rusticl*.icd)
set(MOTLEY_HAVE_RUSTICL OFF)
if(icd_rusticl)
    set(MOTLEY_HAVE_RUSTICL ON)
    file(COPY ${icd_rusticl} DESTINATION ${MOTLEY_ICD_ALL})
endif()

# Oclgrind's package brings a driver library but no .icd file.
find_library(MOTLEY_OCLGRIND_ICD NAMES oclgrind-rt-icd PATH_SUFFIXES oclgrind)
mark_as_advanced(MOTLEY_OCLGRIND_ICD)
set(MOTLEY_HAVE_OCLGRIND OFF)
if(MOTLEY_OCLGRIND_ICD)
    set(MOTLEY_HAVE_OCLGRIND ON)
    file(WRITE ${MOTLEY_ICD_OCLGRIND}/oclgrind.icd "${MOTLEY_OCLGRIND_ICD}\n")
    file(WRITE ${MOTLEY_ICD_ALL}/oclgrind.icd "${MOTLEY_OCLGRIND_ICD}\n")
endif()

set(MOTLEY_TEST_ICD_ENV "")
if(MOTLEY_TEST_ICD STREQUAL "all")
    set(MOTLEY_TEST_ICD_ENV "OCL_ICD_VENDORS=${MOTLEY_ICD_ALL}" "RUSTICL_ENABLE=llvmpipe")
elseif(MOTLEY_TEST_ICD STREQUAL "pocl")
    if(MOTLEY_HAVE_POCL)
        set(MOTLEY_TEST_ICD_ENV "OCL_ICD_VENDORS=${MOTLEY_ICD_POCL}")
    else()
        message(STATUS "PoCL not found: tests run on the installed OpenCL drivers"
            " (sh cmake/setup.sh --tests)")
    endif()
endif()
