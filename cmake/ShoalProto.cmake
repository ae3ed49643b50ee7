# shoal_proto(<target> <file.proto>) makes a static library of the messages in proto/<file.proto>,
# included as "<file>.pb.h". The host's protoc writes the sources, whatever they are compiled for;
# its code is not ours, so its warnings are off.
find_package(Threads REQUIRED)
if(SHOAL_STATIC)
  set(Protobuf_USE_STATIC_LIBS ON)
endif()
find_package(Protobuf 3.21 REQUIRED)
find_program(SHOAL_PROTOC protoc REQUIRED NO_CMAKE_FIND_ROOT_PATH)

function(shoal_proto target file)
  get_filename_component(stem ${file} NAME_WE)
  set(source ${PROJECT_SOURCE_DIR}/proto/${file})
  set(out ${PROJECT_BINARY_DIR}/proto/${stem})
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${out}/${stem}.pb.cc ${out}/${stem}.pb.h
    COMMAND ${SHOAL_PROTOC} --proto_path=${PROJECT_SOURCE_DIR}/proto --cpp_out=${out} ${source}
    DEPENDS ${source} VERBATIM)
  add_library(${target} STATIC ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC shoal_options protobuf::libprotobuf Threads::Threads)
  target_compile_options(${target} PRIVATE -w)
endfunction()
