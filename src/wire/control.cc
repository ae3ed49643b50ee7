#include "wire/control.h"

#include "base/check.h"

namespace shoal::wire {
namespace {

template <class Message>
Frame EncodeMessage(const Message& message) {
  Frame frame(message.ByteSizeLong());
  SHOAL_CHECK(message.SerializeToArray(frame.data(), static_cast<int>(frame.size())));
  return frame;
}

template <class Message>
Result<Message> DecodeMessage(const Frame& frame) {
  Message message;
  if (frame.size() > kControlFrameBytesMax ||
      !message.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
    return Status(Code::kCorruption, "control message: not protobuf");
  }
  if (message.body_case() == Message::BODY_NOT_SET) {
    return Status(Code::kCorruption, "control message: of no known kind");
  }
  return message;
}

}  // namespace

Frame Encode(const pb::ToHead& message) { return EncodeMessage(message); }
Frame Encode(const pb::ToNode& message) { return EncodeMessage(message); }

Result<pb::ToHead> DecodeToHead(const Frame& frame) { return DecodeMessage<pb::ToHead>(frame); }
Result<pb::ToNode> DecodeToNode(const Frame& frame) { return DecodeMessage<pb::ToNode>(frame); }

WorkRules ReadWishes(const pb::Wishes& wishes) {
  WorkRules rules{.only_charging = wishes.only_charging()};
  if (wishes.hours_begin() <= kMinutesPerDay && wishes.hours_end() <= kMinutesPerDay) {
    rules.hours =
        DayHours{static_cast<int>(wishes.hours_begin()), static_cast<int>(wishes.hours_end())};
  }
  return rules;
}

}  // namespace shoal::wire
