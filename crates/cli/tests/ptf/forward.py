"""Frames leave where the table says, in the form of PTF's suites."""

import ptf
from ptf.base_tests import BaseTest
from ptf.testutils import send_packet, simple_eth_packet, verify_no_other_packets, verify_packet


class Frames(BaseTest):
    def setUp(self):
        self.dataplane = ptf.dataplane_instance
        self.dataplane.flush()


class Forward(Frames):
    def runTest(self):
        packet = simple_eth_packet(eth_dst="02:00:00:00:00:07", pktlen=64)
        send_packet(self, 1, packet)
        verify_packet(self, packet, 2)
        verify_no_other_packets(self, timeout=0.2)


class Unknown(Frames):
    def runTest(self):
        send_packet(self, 1, simple_eth_packet(eth_dst="02:00:00:00:00:08", pktlen=64))
        verify_no_other_packets(self, timeout=0.2)
