# shoal_proto(<target> <file.proto>) makes a static library from a schema in proto/. The
# header is included by the name of the schema alone: #include "datum.pb.h".
#
# protoc is the host's, also when the library is for a phone: what it writes is the same.
# Generated code is not held to our warnings.
include_guard(GLOBAL)
find_package(Threads REQUIRED)
find_package(Protobuf 3.21 REQUIRED)

function(shoal_proto target file)
  get_filename_component(schema ${file} ABSOLUTE)
  get_filename_component(directory ${schema} DIRECTORY)
  get_filename_component(name ${schema} NAME_WE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target})
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${out}/${name}.pb.cc ${out}/${name}.pb.h
    COMMAND ${Protobuf_PROTOC_EXECUTABLE} --cpp_out=${out} -I${directory} ${schema}
    DEPENDS ${schema} VERBATIM)
  add_library(${target} STATIC ${out}/${name}.pb.cc ${out}/${name}.pb.h)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -w)
  if(SHOAL_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SHOAL_SANITIZE})
  endif()
  # SYSTEM: the header's inline code is not ours either.
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
endfunction()
