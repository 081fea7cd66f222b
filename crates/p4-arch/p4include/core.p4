// SPDX-License-Identifier: Apache-2.0
// core.p4: what every P4-16 program may rely on (P4-16 appendix "P4 core library").
#ifndef _CORE_P4_
#define _CORE_P4_

// Errors that the language's own operations signal. Programs may add more.
error {
    NoError,               // all is well
    PacketTooShort,        // extract, lookahead or advance ran past the end of the packet
    NoMatch,               // no case of a select fits
    StackOutOfBounds,      // next or last of a header stack outside its elements
    HeaderTooShort,        // a varbit field shorter than the length asked for
    ParserTimeout,         // the parser took longer than the target allows
    ParserInvalidArgument  // a length that the target cannot extract
}

// The packet as a parser sees it: bits and a cursor.
extern packet_in {
    // Fills a header of fixed size, makes it valid and moves the cursor behind it.
    void extract<T>(out T hdr);
    // The same for a header with one varbit field, whose length in bits is the second argument.
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);
    // The next bits as a value of type T; the cursor stays.
    T lookahead<T>();
    // Moves the cursor.
    void advance(in bit<32> sizeInBits);
    // The packet's length in bytes, where the target knows it.
    bit<32> length();
}

// The packet as a deparser makes it.
extern packet_out {
    // Appends a header if it is valid; stacks, unions and structs element by element.
    void emit<T>(in T hdr);
}

// In a parser: where `check` is false, sets the parser error and goes to reject.
extern void verify(in bool check, in error toSignal);

// The action that changes nothing.
@noWarn("unused")
action NoAction() {}

// How a table's key may be compared. Architectures add more.
match_kind {
    exact,    // every bit
    ternary,  // the bits of a mask
    lpm       // the longest of the prefixes that fit
}

// Stops the compilation with `message` where `check` is false; gives `check`, so that it can initialise a constant.
extern bool static_assert(bool check, string message);
// The same with a message of the compiler's choice.
extern bool static_assert(bool check);

#endif
