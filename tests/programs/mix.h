// Order-dependent checksum that the programs print instead of whole arrays.
#ifndef MIX_H
#define MIX_H
static inline unsigned long mix(unsigned long h, unsigned long v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15UL;
    return h ^ (h >> 29);
}
#endif
