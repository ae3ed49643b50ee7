# cmake -DZOO=<directory> -DOUT=<file.cc> -P embed_zoo.cmake: the prototxt files of ZOO's
# directories as a table of strings, so that a program without files beside it has them.
file(GLOB files RELATIVE ${ZOO} ${ZOO}/*/*.prototxt)
list(SORT files)
set(rows "")
foreach(file IN LISTS files)
  file(READ ${ZOO}/${file} text)
  string(APPEND rows "    {\"${file}\", R\"zoo(${text})zoo\"},\n")
endforeach()
file(WRITE ${OUT} "// Written by cmake/embed_zoo.cmake.
#include \"shoal/zoo_files.h\"

namespace shoal {

std::span<const ZooFile> ZooFiles() {
  static constexpr ZooFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace shoal
")
