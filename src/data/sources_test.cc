// The data sets: each gives the records that its files hold, and says which file is wrong.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "data/binary_sets.h"
#include "data/data_set.h"
#include "data/data_testing.h"
#include "data/datum.h"
#include "data/image.h"
#include "data/image_files.h"
#include "data/lmdb.h"
#include "data/open_source.h"

namespace shoal::data {
namespace {

// A CIFAR record whose planes are constant.
std::string CifarRecord(std::string labels, char red, char green, char blue) {
  return labels + std::string(1024, red) + std::string(1024, green) + std::string(1024, blue);
}

std::string BigEndian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xffU);
  return bytes;
}

std::string IdxImages(std::uint32_t count, std::uint32_t height, std::uint32_t width) {
  return BigEndian(0x803) + BigEndian(count) + BigEndian(height) + BigEndian(width);
}

std::string IdxLabels(std::string labels) {
  return BigEndian(0x801) + BigEndian(static_cast<std::uint32_t>(labels.size())) + labels;
}

std::string Png(std::int64_t height, std::int64_t width, std::uint8_t value) {
  Image image{.channels = 3, .height = height, .width = width};
  image.pixels.assign(static_cast<std::size_t>(3 * height * width), value);
  return *EncodePng(image);
}

Record Read(const RecordSource& source, std::int64_t index) {
  Record record;
  const Status status = source.Read(index, record);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return record;
}

TEST(Cifar, SeveralFilesAreOneSet) {
  const TempDirectory directory;
  directory.Write("data_batch_1.bin", CifarRecord("\x03", 1, 2, 3) + CifarRecord("\x04", 4, 5, 6));
  for (const char* name : {"2", "3", "4", "5"}) {
    directory.Write("data_batch_" + std::string(name) + ".bin", CifarRecord("\x09", 7, 8, 9));
  }
  directory.Write("test_batch.bin", CifarRecord("\x01", 1, 1, 1));
  const auto train = OpenDataSet({.paths = {directory.path()}});
  ASSERT_TRUE(train.ok()) << train.status().ToString();
  EXPECT_EQ((*train)->size(), 6);
  EXPECT_EQ(Read(**train, 1).label, 4);
  const Record last = Read(**train, 5);
  EXPECT_EQ(last.label, 9);
  EXPECT_EQ(std::vector<std::uint8_t>(last.bytes.begin(), last.bytes.begin() + 3),
            (std::vector<std::uint8_t>{7, 8, 9}));
  const auto test = OpenDataSet({.paths = {directory.path()}, .test = true});
  EXPECT_EQ((*test)->size(), 1);
}

TEST(Cifar, BlueFirstIfAskedFor) {
  const TempDirectory directory;
  const std::string file = directory.Write("x.bin", CifarRecord("\x03", 1, 2, 3));
  const auto source = CifarSource::Open(CifarKind::k10, {file}, CifarOrder::kBlueFirst);
  EXPECT_EQ(Read(*source, 0).bytes[0], 3);
  EXPECT_EQ(Read(*source, 0).bytes[2], 1);
}

TEST(Cifar, OfAHundredTakesTheFineLabel) {
  const TempDirectory directory;
  directory.Write("train.bin", CifarRecord("\x03\x2a", 1, 2, 3));
  const auto source = OpenDataSet({.paths = {directory.path()}});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(Read(**source, 0).label, 42);
}

TEST(Cifar, ATruncatedFileIsNamed) {
  const TempDirectory directory;
  const std::string file = directory.Write("x.bin", "short");
  EXPECT_EQ(Message(OpenDataSet({.paths = {file}}).status()),
            "not a whole number of CIFAR records (3073 bytes each): " + file);
}

TEST(Mnist, ImagesAndLabels) {
  const TempDirectory directory;
  directory.Write("train-images-idx3-ubyte", IdxImages(2, 1, 3) + "abcdef");
  directory.Write("train-labels-idx1-ubyte", IdxLabels("\x07\x05"));
  const auto source = OpenDataSet({.paths = {directory.path()}});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ((*source)->size(), 2);
  const Record record = Read(**source, 1);
  EXPECT_EQ(record.label, 5);
  EXPECT_EQ(record.width, 3);
  EXPECT_EQ(record.bytes, (std::vector<std::uint8_t>{'d', 'e', 'f'}));
}

TEST(Mnist, BrokenFilesAreNamed) {
  const TempDirectory directory;
  const std::string images = directory.Write("images-ubyte", IdxImages(2, 1, 3) + "abcdef");
  const std::string huge = directory.Write("huge", IdxImages(0xffffffff, 0xffffffff, 0xffffffff));
  const std::string labels = directory.Write("labels", IdxLabels("\x07\x05"));
  const std::string three = directory.Write("three", IdxLabels("\x07\x05\x01"));
  const std::string tiny = directory.Write("tiny", "abc");
  EXPECT_TRUE(OpenDataSet({.paths = {images, labels}}).ok());
  const auto message = [](const std::string& a, const std::string& b) {
    return Message(MnistSource::Open(a, b).status());
  };
  EXPECT_EQ(message(images, three), "not of the size that its header says: " + three);
  EXPECT_EQ(message(huge, labels), "not of the size that its header says: " + huge);
  EXPECT_EQ(message(labels, labels), "not an idx file of images: " + labels);
  EXPECT_EQ(message(images, images), "not an idx file of labels: " + images);
  EXPECT_EQ(message(tiny, labels), "ends at byte 3: " + tiny);
}

TEST(ImageFiles, AListWithSpacesAndARoot) {
  const TempDirectory directory;
  directory.Write("a b.png", Png(2, 3, 9));
  directory.Write("c.png", Png(4, 4, 8));
  const std::string list = directory.Write("list.txt", "a b.png 3\r\n\nc.png\t-1\n");
  const auto source =
      OpenSource({.from = ImageListDef{.path = list, .root_folder = directory.path() + "/"}});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  ASSERT_EQ((*source)->size(), 2);
  const Record record = Read(**source, 0);
  EXPECT_EQ(record.label, 3);
  EXPECT_EQ(record.height, 2);
  EXPECT_EQ(record.width, 3);
  EXPECT_EQ(record.bytes[0], 9);
  EXPECT_EQ(Read(**source, 1).label, -1);
  EXPECT_EQ((*source)->Name(0), "a b.png");
}

TEST(ImageFiles, ResizedAndGray) {
  const TempDirectory directory;
  const std::string path = directory.Write("a.png", Png(2, 3, 9));
  const std::string list = directory.Write("list", path + " 0\n");
  const auto source = OpenSource(
      {.from = ImageListDef{.path = list, .new_height = 5, .new_width = 6, .color = false}});
  const Record record = Read(**source, 0);
  EXPECT_EQ(record.channels, 1);
  EXPECT_EQ(record.height, 5);
  EXPECT_EQ(record.width, 6);
  EXPECT_EQ(record.bytes[0], 9);
}

TEST(ImageFiles, MistakesInAListNameTheLine) {
  const TempDirectory directory;
  const std::string list = directory.Write("list", "a.png 1\nb.png one\n");
  EXPECT_EQ(Message(ImageFiles::FromList({.path = list}).status()), list + ":2: not a label: one");
  const std::string bare = directory.Write("bare", "a.png\n");
  EXPECT_EQ(Message(ImageFiles::FromList({.path = bare}).status()),
            bare + ":1: expected \"path label\"");
  const std::string empty = directory.Write("empty", "\n");
  EXPECT_EQ(Message(ImageFiles::FromList({.path = empty}).status()), "no images: " + empty);
  EXPECT_FALSE(ImageFiles::FromList({.path = list, .new_height = 3}).ok());
}

TEST(ImageFiles, MissingAndBrokenImagesAreNamed) {
  const TempDirectory directory;
  const std::string broken = directory.Write("broken.jpg", "\xff\xd8\xff nonsense");
  const std::string list = directory.Write("list", directory / "none.jpg 1\n" + broken + " 2\n");
  const auto source = ImageFiles::FromList({.path = list});
  ASSERT_TRUE(source.ok());
  Record record;
  EXPECT_EQ(Message(source->Read(0, record)),
            "no such file or directory: " + (directory / "none.jpg"));
  EXPECT_EQ(Message(source->Read(1, record)).find(broken + ": JPEG: "), 0U);
}

TEST(ImageFiles, AFolderOfClasses) {
  const TempDirectory directory;
  directory.Write("set/dog/2.png", Png(1, 1, 2));
  directory.Write("set/dog/1.PNG", Png(1, 1, 1));
  directory.Write("set/dog/notes.txt", "not an image");
  directory.Write("set/cat/3.png", Png(1, 1, 3));
  const auto source = ImageFiles::FromFolder(directory / "set");
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->classes(), (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(source->size(), 3);
  EXPECT_EQ(source->Name(0), "cat/3.png");
  EXPECT_EQ(source->Name(1), "dog/1.PNG");
  EXPECT_EQ(Read(*source, 2).label, 1);
  EXPECT_EQ(Read(*source, 2).bytes[0], 2);
  EXPECT_EQ((*OpenDataSet({.paths = {directory / "set"}}))->size(), 3);
  EXPECT_EQ(Message(OpenDataSet({.paths = {directory / "set/dog"}}).status()),
            "no directories with .jpg or .png files in them: " + (directory / "set/dog"));
}

// Records that others have kept are not of it any more.
TEST(OpenSource, AChangeOfAnyFileGivesAnotherStamp) {
  const TempDirectory directory;
  const std::string image = directory.Write("a.png", Png(1, 1, 9));
  const std::string list = directory.Write("list.txt", "a.png 1\n");
  const SourceDef files{.from = ImageListDef{.path = list, .root_folder = directory.path() + "/"}};
  const std::uint64_t first = StampOf(files);
  EXPECT_EQ(StampOf(files), first);
  directory.Write("list.txt", "a.png 2\n");
  const std::uint64_t second = StampOf(files);
  EXPECT_NE(second, first);
  std::filesystem::last_write_time(image, std::filesystem::file_time_type{});
  EXPECT_NE(StampOf(files), second);

  const std::string database = directory.Write("db/data.mdb", "pages");
  const std::uint64_t before = StampOf({.from = LmdbDef{.path = directory / "db"}});
  EXPECT_EQ(StampOf({.from = LmdbDef{.path = database}}), before);
  std::filesystem::last_write_time(database, std::filesystem::file_time_type{});
  EXPECT_NE(StampOf({.from = LmdbDef{.path = database}}), before);
}

TEST(OpenSource, SaysWhichLayerAndRecordIsWrong) {
  const TempDirectory directory;
  auto writer = LmdbWriter::Create(directory / "db");
  ASSERT_TRUE(writer->Put("00000000", EncodeDatum(TestRecord(1, 2, 2, 5))).ok());
  ASSERT_TRUE(writer->Put("00000001_x", "\xff\xff").ok());
  ASSERT_TRUE(writer->Finish().ok());
  const auto source = OpenSource({.layer = "data", .from = LmdbDef{.path = directory / "db"}});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(Read(**source, 0).label, 5);
  Record record;
  EXPECT_EQ(Message((*source)->Read(1, record)),
            (directory / "db") + ": record 1 \"00000001_x\": not a Datum");
  const auto missing = OpenSource({.layer = "data", .from = LmdbDef{.path = directory / "none"}});
  EXPECT_EQ(Message(missing.status()),
            "layer \"data\": no such file or directory: " + (directory / "none"));
  EXPECT_EQ(OpenSource({.from = MemoryDef{}}).status().code(), Code::kInvalidArgument);
}

TEST(OpenDataSet, SaysWhatIsMissing) {
  EXPECT_EQ(Message(OpenDataSet({.paths = {"/nowhere"}}).status()),
            "no such file or directory: /nowhere");
  EXPECT_EQ(OpenDataSet({}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(OpenDataSet({.format = DataSetFormat::kList, .paths = {"a", "b"}}).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::data
