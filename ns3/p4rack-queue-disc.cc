// SPDX-License-Identifier: GPL-2.0-only
#include "p4rack-queue-disc.h"

#include "ns3/drop-tail-queue.h"
#include "ns3/fatal-error.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <vector>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(P4RackQueueDisc);

namespace
{

constexpr uint32_t ETHERNET = 14;

uint64_t
Nanoseconds()
{
    return Simulator::Now().GetNanoSeconds();
}

/// The packet with its IPv4 header, in a frame.
std::vector<uint8_t>
FrameOf(Ptr<const Ipv4QueueDiscItem> item, Mac48Address to)
{
    auto packet = item->GetPacket()->Copy();
    packet->AddHeader(item->GetHeader());
    std::vector<uint8_t> frame(ETHERNET + packet->GetSize());
    to.CopyTo(frame.data());
    frame[6] = 2;
    frame[12] = 8;
    packet->CopyData(frame.data() + ETHERNET, packet->GetSize());
    return frame;
}

} // namespace

TypeId
P4RackQueueDisc::GetTypeId()
{
    static TypeId id = TypeId("ns3::P4RackQueueDisc")
                           .SetParent<QueueDisc>()
                           .AddConstructor<P4RackQueueDisc>()
                           .AddAttribute("Program",
                                         "The program's file.",
                                         StringValue(""),
                                         MakeStringAccessor(&P4RackQueueDisc::m_program),
                                         MakeStringChecker())
                           .AddAttribute("Entries",
                                         "A file of entries.",
                                         StringValue(""),
                                         MakeStringAccessor(&P4RackQueueDisc::m_entries),
                                         MakeStringChecker())
                           .AddAttribute("Destination",
                                         "The MAC address that frames are for.",
                                         Mac48AddressValue(Mac48Address("02:00:00:00:00:09")),
                                         MakeMac48AddressAccessor(&P4RackQueueDisc::m_destination),
                                         MakeMac48AddressChecker())
                           .AddAttribute("Port",
                                         "The port that frames come from.",
                                         UintegerValue(1),
                                         MakeUintegerAccessor(&P4RackQueueDisc::m_port),
                                         MakeUintegerChecker<uint32_t>())
                           .AddAttribute("MaxSize",
                                         "The most packets that wait.",
                                         QueueSizeValue(QueueSize("256p")),
                                         MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                                         MakeQueueSizeChecker());
    return id;
}

P4RackQueueDisc::P4RackQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::SINGLE_INTERNAL_QUEUE)
{
}

P4RackQueueDisc::~P4RackQueueDisc() = default;

bool
P4RackQueueDisc::CheckConfig()
{
    if (GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0 || GetNInternalQueues() > 0)
    {
        return false;
    }
    AddInternalQueue(CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>("MaxSize", QueueSizeValue(GetMaxSize())));
    return true;
}

void
P4RackQueueDisc::InitializeParams()
{
    std::vector<char> why(65536);
    m_switch = p4r_load(m_program.c_str(), nullptr, 0, 1, why.data(), why.size());
    if (!m_switch)
    {
        NS_FATAL_ERROR(why.data());
    }
    if (!m_entries.empty())
    {
        Check(p4r_entries(m_switch, m_entries.c_str()));
    }
}

void
P4RackQueueDisc::DoDispose()
{
    for (const auto& [item, waiting] : m_waiting)
    {
        p4r_drop(m_switch, waiting.packet);
    }
    m_waiting.clear();
    p4r_close(m_switch);
    m_switch = nullptr;
    QueueDisc::DoDispose();
}

void
P4RackQueueDisc::Check(int status) const
{
    if (status != 0)
    {
        NS_FATAL_ERROR(p4r_error(m_switch));
    }
}

uint64_t
P4RackQueueDisc::Register(const std::string& name, uint64_t index) const
{
    uint64_t value = 0;
    Check(p4r_register(m_switch, name.c_str(), index, &value));
    return value;
}

uint64_t
P4RackQueueDisc::GetMarked() const
{
    return m_marked;
}

bool
P4RackQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    auto ipv4 = DynamicCast<Ipv4QueueDiscItem>(item);
    if (!ipv4 || GetCurrentSize() + item > GetMaxSize())
    {
        DropBeforeEnqueue(item, LIMIT_EXCEEDED_DROP);
        return false;
    }
    auto frame = FrameOf(ipv4, m_destination);
    const p4r_queued* queued;
    size_t n;
    Check(p4r_ingress(m_switch, m_port, frame.data(), frame.size(), Nanoseconds(), &queued, &n));
    for (size_t i = 1; i < n; i++)
    {
        // A copy has no place here.
        p4r_drop(m_switch, queued[i].packet);
    }
    if (n == 0)
    {
        DropBeforeEnqueue(item, PROGRAM_DROP);
        return false;
    }
    Waiting waiting{queued[0].packet, Nanoseconds(), GetInternalQueue(0)->GetNPackets()};
    if (!GetInternalQueue(0)->Enqueue(item))
    {
        p4r_drop(m_switch, waiting.packet);
        return false;
    }
    m_waiting[item] = waiting;
    return true;
}

Ptr<QueueDiscItem>
P4RackQueueDisc::DoDequeue()
{
    while (auto item = GetInternalQueue(0)->Dequeue())
    {
        auto found = m_waiting.find(item);
        Waiting waiting = found->second;
        m_waiting.erase(found);
        p4r_stay stay{waiting.enqueued, waiting.depth, GetInternalQueue(0)->GetNPackets()};
        p4r_result result;
        Check(p4r_egress(m_switch, waiting.packet, &stay, Nanoseconds(), &result));
        for (size_t i = 0; i < result.n_queued; i++)
        {
            p4r_drop(m_switch, result.queued[i].packet);
        }
        if (result.frames == 0 || result.frame->length < ETHERNET)
        {
            DropAfterDequeue(item, PROGRAM_DROP);
            continue;
        }
        auto before = DynamicCast<Ipv4QueueDiscItem>(item);
        auto packet = Create<Packet>(result.frame->bytes + ETHERNET, result.frame->length - ETHERNET);
        Ipv4Header header;
        packet->RemoveHeader(header);
        if (header.GetEcn() == Ipv4Header::ECN_CE && before->GetHeader().GetEcn() != Ipv4Header::ECN_CE)
        {
            m_marked++;
        }
        // The packet of the host keeps its tags, as long as the program has left its bytes alone.
        auto old = before->GetPacket();
        std::vector<uint8_t> bytes(packet->GetSize());
        std::vector<uint8_t> others(old->GetSize());
        packet->CopyData(bytes.data(), bytes.size());
        old->CopyData(others.data(), others.size());
        auto kept = bytes == others ? old : packet;
        auto after = Create<Ipv4QueueDiscItem>(kept, item->GetAddress(), item->GetProtocol(), header);
        after->SetTxQueueIndex(item->GetTxQueueIndex());
        after->SetTimeStamp(item->GetTimeStamp());
        return after;
    }
    return nullptr;
}

} // namespace ns3
