// As on Tofino 1; the metadata of ports has more bits, and all are taken.
#define TOFINO2
#include "tna_math.p4"
