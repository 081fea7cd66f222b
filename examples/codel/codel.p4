// SPDX-License-Identifier: Apache-2.0
//
// CoDel (RFC 8289) between two ports: packets that have waited too long for too long are dropped as they leave the queue.
//
// The RFC's dequeue takes packets from the queue until it finds one to deliver. A switch's egress sees each packet alone, at the same time if
// the one before was dropped. After a drop in the dropping state, the RFC sets the time of the next drop if the next packet has waited too long
// as well: `waits_for_law` stands for that until the next packet. After the first drop, the RFC delivers the next packet whatever it is; here
// it is delivered because the next drop is in the future.
//
// The RFC compares the bytes left in the queue with those of a packet; the queue of v1model is counted in packets.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

// Microseconds.
const bit<32> TARGET = 5000;
const bit<48> INTERVAL = 100000;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t { }

// The state of a port, beside `first_above`.
struct codel_t {
    bit<1>  is_dropping;
    bit<1>  waits_for_law;
    bit<32> count;
    bit<32> last_count;
    bit<48> drop_next;
}

parser CodelParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control CodelVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// From port 1 to port 2, and back.
control CodelIngress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = standard_metadata.ingress_port == 1 ? 9w2 : 9w1;
    }
}

control CodelEgress(inout headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    // When the delay will have been above the target for an interval; 0: it is below.
    register<bit<48>, bit<32>>(4) first_above;
    register<codel_t, bit<32>>(4) states;
    bit<32> number = 0;
    bit<48> gap = 0;

    action gap_is(bit<48> value) {
        gap = value;
    }

    // INTERVAL / sqrt(number), rounded down.
    table gaps {
        key = { number: exact; }
        actions = { gap_is; }
        // 256 drops of a state and more.
        const default_action = gap_is(6250);
        const entries = {
            1: gap_is(100000);
            2: gap_is(70710);
            3: gap_is(57735);
            4: gap_is(50000);
            5: gap_is(44721);
            6: gap_is(40824);
            7: gap_is(37796);
            8: gap_is(35355);
            9: gap_is(33333);
            10: gap_is(31622);
            11: gap_is(30151);
            12: gap_is(28867);
            13: gap_is(27735);
            14: gap_is(26726);
            15: gap_is(25819);
            16: gap_is(25000);
            17: gap_is(24253);
            18: gap_is(23570);
            19: gap_is(22941);
            20: gap_is(22360);
            21: gap_is(21821);
            22: gap_is(21320);
            23: gap_is(20851);
            24: gap_is(20412);
            25: gap_is(20000);
            26: gap_is(19611);
            27: gap_is(19245);
            28: gap_is(18898);
            29: gap_is(18569);
            30: gap_is(18257);
            31: gap_is(17960);
            32: gap_is(17677);
            33: gap_is(17407);
            34: gap_is(17149);
            35: gap_is(16903);
            36: gap_is(16666);
            37: gap_is(16439);
            38: gap_is(16222);
            39: gap_is(16012);
            40: gap_is(15811);
            41: gap_is(15617);
            42: gap_is(15430);
            43: gap_is(15249);
            44: gap_is(15075);
            45: gap_is(14907);
            46: gap_is(14744);
            47: gap_is(14586);
            48: gap_is(14433);
            49: gap_is(14285);
            50: gap_is(14142);
            51: gap_is(14002);
            52: gap_is(13867);
            53: gap_is(13736);
            54: gap_is(13608);
            55: gap_is(13483);
            56: gap_is(13363);
            57: gap_is(13245);
            58: gap_is(13130);
            59: gap_is(13018);
            60: gap_is(12909);
            61: gap_is(12803);
            62: gap_is(12700);
            63: gap_is(12598);
            64: gap_is(12500);
            65: gap_is(12403);
            66: gap_is(12309);
            67: gap_is(12216);
            68: gap_is(12126);
            69: gap_is(12038);
            70: gap_is(11952);
            71: gap_is(11867);
            72: gap_is(11785);
            73: gap_is(11704);
            74: gap_is(11624);
            75: gap_is(11547);
            76: gap_is(11470);
            77: gap_is(11396);
            78: gap_is(11322);
            79: gap_is(11250);
            80: gap_is(11180);
            81: gap_is(11111);
            82: gap_is(11043);
            83: gap_is(10976);
            84: gap_is(10910);
            85: gap_is(10846);
            86: gap_is(10783);
            87: gap_is(10721);
            88: gap_is(10660);
            89: gap_is(10599);
            90: gap_is(10540);
            91: gap_is(10482);
            92: gap_is(10425);
            93: gap_is(10369);
            94: gap_is(10314);
            95: gap_is(10259);
            96: gap_is(10206);
            97: gap_is(10153);
            98: gap_is(10101);
            99: gap_is(10050);
            100: gap_is(10000);
            101: gap_is(9950);
            102: gap_is(9901);
            103: gap_is(9853);
            104: gap_is(9805);
            105: gap_is(9759);
            106: gap_is(9712);
            107: gap_is(9667);
            108: gap_is(9622);
            109: gap_is(9578);
            110: gap_is(9534);
            111: gap_is(9491);
            112: gap_is(9449);
            113: gap_is(9407);
            114: gap_is(9365);
            115: gap_is(9325);
            116: gap_is(9284);
            117: gap_is(9245);
            118: gap_is(9205);
            119: gap_is(9166);
            120: gap_is(9128);
            121: gap_is(9090);
            122: gap_is(9053);
            123: gap_is(9016);
            124: gap_is(8980);
            125: gap_is(8944);
            126: gap_is(8908);
            127: gap_is(8873);
            128: gap_is(8838);
            129: gap_is(8804);
            130: gap_is(8770);
            131: gap_is(8737);
            132: gap_is(8703);
            133: gap_is(8671);
            134: gap_is(8638);
            135: gap_is(8606);
            136: gap_is(8574);
            137: gap_is(8543);
            138: gap_is(8512);
            139: gap_is(8481);
            140: gap_is(8451);
            141: gap_is(8421);
            142: gap_is(8391);
            143: gap_is(8362);
            144: gap_is(8333);
            145: gap_is(8304);
            146: gap_is(8276);
            147: gap_is(8247);
            148: gap_is(8219);
            149: gap_is(8192);
            150: gap_is(8164);
            151: gap_is(8137);
            152: gap_is(8111);
            153: gap_is(8084);
            154: gap_is(8058);
            155: gap_is(8032);
            156: gap_is(8006);
            157: gap_is(7980);
            158: gap_is(7955);
            159: gap_is(7930);
            160: gap_is(7905);
            161: gap_is(7881);
            162: gap_is(7856);
            163: gap_is(7832);
            164: gap_is(7808);
            165: gap_is(7784);
            166: gap_is(7761);
            167: gap_is(7738);
            168: gap_is(7715);
            169: gap_is(7692);
            170: gap_is(7669);
            171: gap_is(7647);
            172: gap_is(7624);
            173: gap_is(7602);
            174: gap_is(7580);
            175: gap_is(7559);
            176: gap_is(7537);
            177: gap_is(7516);
            178: gap_is(7495);
            179: gap_is(7474);
            180: gap_is(7453);
            181: gap_is(7432);
            182: gap_is(7412);
            183: gap_is(7392);
            184: gap_is(7372);
            185: gap_is(7352);
            186: gap_is(7332);
            187: gap_is(7312);
            188: gap_is(7293);
            189: gap_is(7273);
            190: gap_is(7254);
            191: gap_is(7235);
            192: gap_is(7216);
            193: gap_is(7198);
            194: gap_is(7179);
            195: gap_is(7161);
            196: gap_is(7142);
            197: gap_is(7124);
            198: gap_is(7106);
            199: gap_is(7088);
            200: gap_is(7071);
            201: gap_is(7053);
            202: gap_is(7035);
            203: gap_is(7018);
            204: gap_is(7001);
            205: gap_is(6984);
            206: gap_is(6967);
            207: gap_is(6950);
            208: gap_is(6933);
            209: gap_is(6917);
            210: gap_is(6900);
            211: gap_is(6884);
            212: gap_is(6868);
            213: gap_is(6851);
            214: gap_is(6835);
            215: gap_is(6819);
            216: gap_is(6804);
            217: gap_is(6788);
            218: gap_is(6772);
            219: gap_is(6757);
            220: gap_is(6741);
            221: gap_is(6726);
            222: gap_is(6711);
            223: gap_is(6696);
            224: gap_is(6681);
            225: gap_is(6666);
            226: gap_is(6651);
            227: gap_is(6637);
            228: gap_is(6622);
            229: gap_is(6608);
            230: gap_is(6593);
            231: gap_is(6579);
            232: gap_is(6565);
            233: gap_is(6551);
            234: gap_is(6537);
            235: gap_is(6523);
            236: gap_is(6509);
            237: gap_is(6495);
            238: gap_is(6482);
            239: gap_is(6468);
            240: gap_is(6454);
            241: gap_is(6441);
            242: gap_is(6428);
            243: gap_is(6415);
            244: gap_is(6401);
            245: gap_is(6388);
            246: gap_is(6375);
            247: gap_is(6362);
            248: gap_is(6350);
            249: gap_is(6337);
            250: gap_is(6324);
            251: gap_is(6311);
            252: gap_is(6299);
            253: gap_is(6286);
            254: gap_is(6274);
            255: gap_is(6262);
        }
    }

    apply {
        bit<32> index = (bit<32>)standard_metadata.egress_port & 3;
        bit<48> now = standard_metadata.egress_global_timestamp;
        bit<48> above;
        first_above.read(above, index);
        bool may_drop = false;
        if (standard_metadata.deq_timedelta < TARGET || standard_metadata.deq_qdepth <= 1) {
            above = 0;
        } else if (above == 0) {
            above = now + INTERVAL;
        } else {
            may_drop = now >= above;
        }
        first_above.write(index, above);

        codel_t state;
        states.read(state, index);
        bool drops = false;
        if (state.is_dropping == 1) {
            if (!may_drop) {
                state.is_dropping = 0;
            } else if (state.waits_for_law == 1) {
                number = state.count;
                gaps.apply();
                state.drop_next = state.drop_next + gap;
            }
            state.waits_for_law = 0;
            if (state.is_dropping == 1 && now >= state.drop_next) {
                drops = true;
                state.count = state.count + 1;
                state.waits_for_law = 1;
            }
        } else if (may_drop) {
            drops = true;
            state.is_dropping = 1;
            bit<32> delta = state.count - state.last_count;
            state.count = delta > 1 && now - state.drop_next < 16 * INTERVAL ? delta : 1;
            number = state.count;
            gaps.apply();
            state.drop_next = now + gap;
            state.last_count = state.count;
        }
        states.write(index, state);
        if (drops) {
            mark_to_drop(standard_metadata);
        }
    }
}

control CodelUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control CodelDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(CodelParser(), CodelVerify(), CodelIngress(), CodelEgress(), CodelUpdate(), CodelDeparser()) main;
