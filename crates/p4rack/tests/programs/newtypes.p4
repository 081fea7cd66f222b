#include <core.p4>
#include <v1model.p4>
type bit<32> inner_t;
type inner_t outer_t;
type outer_t outermost_t;
type bool flag_t;
type flag_t flags_t;
enum bit<8> kind_t { A = 1, B = 2 }
type kind_t kinds_t;
type int<8> delta_t;
type delta_t deltas_t;
header h_t { outer_t o; bit<32> b; kinds_t k; deltas_t d; flags_t f; bit<7> pad; outermost_t oo; }
struct hs_t { h_t h; }
struct m_t { outermost_t m; flags_t f; kinds_t k; deltas_t d; inner_t i; outer_t o; bit<16> hash; }
struct dig_t { outer_t a; flags_t b; deltas_t c; kinds_t d; outermost_t e; }
parser P(packet_in p, out hs_t h, inout m_t m, inout standard_metadata_t s) { state start { p.extract(h.h);
  m.o = h.h.o; m.m = h.h.oo; m.f = h.h.f; m.k = h.h.k; m.d = h.h.d;
  transition select(h.h.o, h.h.f) { (_, _): accept; } } }
control V(inout hs_t h, inout m_t m) { apply { } }
control I(inout hs_t h, inout m_t m, inout standard_metadata_t s) {
    action a(outer_t v, flags_t f, kinds_t k) { s.egress_spec = 2; h.h.o = v; m.f = f; m.k = k; }
    outermost_t live = (outermost_t)(outer_t)(inner_t)h.h.b;
    flags_t flag = (flags_t)(flag_t)(h.h.b == 1);
    kinds_t kind = h.h.k;
    deltas_t delta = (deltas_t)(delta_t)(int<8>)h.h.b[7:0];
    table t { key = { s.ingress_port: exact; h.h.o: exact; h.h.f: exact; h.h.k: exact; m.m: exact; h.h.d: exact; } actions = { a; NoAction; } default_action = a((outer_t)(inner_t)32w5, (flags_t)(flag_t)true, (kinds_t)kind_t.A); }
    table u { key = { m.f: exact; m.m: lpm; m.d: ternary; } actions = { a; NoAction; } default_action = NoAction(); }
    apply { @region("R") { t.apply();
      hash(m.hash, HashAlgorithm.crc16, 16w0, { h.h.o, m.f, m.d, live, kind }, 16w1024);
      if (m.f == flag) { live = h.h.oo; kind = m.k; }
      digest<dig_t>(1, { h.h.o, flag, delta, kind, live });
      }
      u.apply(); m.m = live; h.h.f = flag; h.h.k = kind; h.h.d = delta; h.h.oo = live;  h.h.b = h.h.b + (bit<32>)m.hash; s.egress_spec = (bit<9>)m.hash; }
}
control E(inout hs_t h, inout m_t m, inout standard_metadata_t s) { apply { h.h.o = (outer_t)(inner_t)((bit<32>)(inner_t)h.h.o + 1); } }
control C(inout hs_t h, inout m_t m) { apply { } }
control D(packet_out p, in hs_t h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
