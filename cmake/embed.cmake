# embed.cmake - IN: a list of kernel files; OUT: a C file with the table of their texts
# (device/kernels.h).
set(text "/* Made from cl/ by cmake/embed.cmake. */\n#include \"device/kernels.h\"\n\n")
set(table "")
foreach(path IN LISTS IN)
    get_filename_component(name ${path} NAME_WE)
    file(READ ${path} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND text "static const char text_${name}[] = {${bytes}0};\n")
    string(APPEND table "    {\"${name}\", text_${name}},\n")
endforeach()
string(APPEND text "\nconst struct mot__kernel_text mot__kernel_texts[] = {\n${table}"
    "    {0, 0},\n};\n")
file(WRITE ${OUT} "${text}")
