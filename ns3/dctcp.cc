// SPDX-License-Identifier: GPL-2.0-only
//
// TCP of ns-3 over a queue discipline that runs a P4 program: eight transfers to one host over a link of 1 Gbit/s, as in examples/dctcp.
//
//     build/dctcp dctcp.p4 entries.stf [TcpDctcp]
//
// Prints the goodput in Mbit/s, the most packets that waited, the packets that the discipline dropped, and those that the program marked.

#include "p4rack-queue-disc.h"

#include "ns3/bulk-send-helper.h"
#include "ns3/config.h"
#include "ns3/enum.h"
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

#include <algorithm>
#include <iostream>

using namespace ns3;

namespace
{

constexpr uint32_t SENDERS = 8;
constexpr uint32_t LENGTH = 5000000;

uint32_t g_longest = 0;
Time g_last;

void
Waiting(uint32_t, uint32_t now)
{
    g_longest = std::max(g_longest, now);
}

void
Came(Ptr<const Packet>, const Address&)
{
    g_last = Simulator::Now();
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc < 3)
    {
        std::cerr << "usage: dctcp PROGRAM ENTRIES [CONGESTION CONTROL]" << std::endl;
        return 2;
    }
    std::string control = argc > 3 ? argv[3] : "TcpDctcp";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + control));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", EnumValue(TcpSocketState::On));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    // A window of one segment would wait for the timer of delayed acknowledgements.
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));

    NodeContainer nodes(SENDERS + 2);
    auto router = nodes.Get(SENDERS);
    auto sink = nodes.Get(SENDERS + 1);
    InternetStackHelper().Install(nodes);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    link.SetChannelAttribute("Delay", StringValue("40us"));
    // A device's own queue is as short as can be: packets wait in the discipline.
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4Address destination;
    Ptr<QueueDisc> discipline;
    for (uint32_t i = 0; i <= SENDERS; i++)
    {
        auto other = i < SENDERS ? nodes.Get(i) : sink;
        auto devices = link.Install(router, other);
        TrafficControlHelper plain;
        plain.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("4096p"));
        plain.Install(devices.Get(1));
        if (other == sink)
        {
            TrafficControlHelper programmed;
            programmed.SetRootQueueDisc("ns3::P4RackQueueDisc", "Program", StringValue(argv[1]), "Entries", StringValue(argv[2]));
            discipline = programmed.Install(devices.Get(0)).Get(0);
            discipline->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Waiting));
        }
        else
        {
            plain.Install(devices.Get(0));
        }
        auto interfaces = addresses.Assign(devices);
        destination = interfaces.GetAddress(1);
        addresses.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    constexpr uint16_t port = 5001;
    auto receiver = PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port)).Install(sink);
    receiver.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Came));
    for (uint32_t i = 0; i < SENDERS; i++)
    {
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(destination, port));
        source.SetAttribute("MaxBytes", UintegerValue(LENGTH));
        source.SetAttribute("SendSize", UintegerValue(1448));
        source.Install(nodes.Get(i)).Start(MilliSeconds(3 * i));
    }
    Simulator::Stop(Seconds(5));
    Simulator::Run();
    auto came = DynamicCast<PacketSink>(receiver.Get(0))->GetTotalRx();
    auto programmed = DynamicCast<P4RackQueueDisc>(discipline);
    std::cout << came * 8 / g_last.GetMicroSeconds() << " Mbit/s, queue " << g_longest << ", "
              << programmed->GetStats().nTotalDroppedPackets << " dropped, " << programmed->GetMarked() << " marked" << std::endl;
    bool complete = came == uint64_t{SENDERS} * LENGTH;
    Simulator::Destroy();
    return complete ? 0 : 1;
}
