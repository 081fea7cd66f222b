// SPDX-License-Identifier: GPL-2.0-only
//
// TCP of ns-3 over links and a queue like those of examples/dctcp, for comparison with the emulator's: eight senders, one receiver.
//
//     build/tcp TcpLinuxReno [dctcp.p4 entries.stf] < transfers > times
//
// Transfers and times are those of rcp.cc. Without a program, the queue before the receiver drops packets at its tail. Links carry 1,502 bytes of a full
// packet in the time of 1,538, as Ethernet at 1 Gbit/s.

#include "p4rack-queue-disc.h"

#include "ns3/bulk-send-application.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/enum.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/uinteger.h"

#include <iostream>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t SENDERS = 8;
constexpr uint16_t FIRST_PORT = 5001;

struct Transfer
{
    uint32_t host;
    uint64_t start;
    uint64_t bytes;
    uint64_t came{0};
    uint64_t done{0};
};

std::vector<Transfer> g_transfers;

void
Came(size_t index, Ptr<const Packet> packet, const Address&)
{
    auto& transfer = g_transfers[index];
    transfer.came += packet->GetSize();
    if (transfer.came == transfer.bytes)
    {
        transfer.done = Simulator::Now().GetNanoSeconds() - transfer.start;
    }
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 2 && argc != 4)
    {
        std::cerr << "usage: tcp CONGESTION-CONTROL [PROGRAM ENTRIES] < TRANSFERS" << std::endl;
        return 2;
    }
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(std::string("ns3::") + argv[1]));
    if (argc == 4)
    {
        Config::SetDefault("ns3::TcpSocketBase::UseEcn", EnumValue(TcpSocketState::On));
    }
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));

    NodeContainer nodes(SENDERS + 2);
    auto router = nodes.Get(SENDERS);
    auto sink = nodes.Get(SENDERS + 1);
    InternetStackHelper().Install(nodes);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("976592978bps"));
    link.SetChannelAttribute("Delay", StringValue("40us"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4Address destination;
    for (uint32_t i = 0; i <= SENDERS; i++)
    {
        auto other = i < SENDERS ? nodes.Get(i) : sink;
        auto devices = link.Install(router, other);
        TrafficControlHelper host;
        host.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("4096p"));
        host.Install(devices.Get(1));
        TrafficControlHelper bottleneck;
        if (argc == 4 && other == sink)
        {
            bottleneck.SetRootQueueDisc("ns3::P4RackQueueDisc", "Program", StringValue(argv[2]), "Entries", StringValue(argv[3]));
        }
        else
        {
            bottleneck.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("256p"));
        }
        bottleneck.Install(devices.Get(0));
        auto interfaces = addresses.Assign(devices);
        destination = interfaces.GetAddress(1);
        addresses.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Transfer read;
    while (std::cin >> read.host >> read.start >> read.bytes)
    {
        if (read.host >= SENDERS || read.bytes == 0)
        {
            std::cerr << "hosts are 0 to " << SENDERS - 1 << ", and a transfer has at least a byte" << std::endl;
            return 2;
        }
        g_transfers.push_back(read);
    }
    for (size_t index = 0; index < g_transfers.size(); index++)
    {
        const auto& transfer = g_transfers[index];
        uint16_t port = FIRST_PORT + index;
        auto receiver = PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port)).Install(sink);
        receiver.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Came).Bind(index));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(destination, port));
        source.SetAttribute("MaxBytes", UintegerValue(transfer.bytes));
        source.SetAttribute("SendSize", UintegerValue(1460));
        source.Install(nodes.Get(transfer.host)).Start(NanoSeconds(transfer.start));
    }
    Simulator::Stop(Seconds(100));
    Simulator::Run();
    bool complete = true;
    for (const auto& one : g_transfers)
    {
        std::cout << one.done << "\n";
        complete &= one.done > 0;
    }
    Simulator::Destroy();
    return complete ? 0 : 1;
}
