// As on Tofino 1, with 16 applications.
#define TOFINO2
#include "tna_pktgen.p4"
