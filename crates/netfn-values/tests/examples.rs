//! Calls by hand: the examples of the manual pages, limits, refusals.

use base_bits::Bits;
use base_time::Time;
use dataplane_api::{Registry, ValueExtern};

fn registry() -> Registry {
    let mut registry = Registry::default();
    netfn_values::register(&mut registry);
    registry
}

fn made(name: &str, args: &[(u32, u128)]) -> Box<dyn ValueExtern> {
    let args: Vec<Bits> = args.iter().map(|(width, value)| Bits::new(*width, *value)).collect();
    (registry().value(name).expect("it is offered").make)(&args).expect("it is made")
}

/// Numbers in, with their widths; slots out, with their widths.
fn call(
    object: &mut dyn ValueExtern,
    method: usize,
    inputs: &[(u32, u128)],
    outputs: &[(u32, u128)],
) -> Vec<u128> {
    let bits = |all: &[(u32, u128)]| all.iter().map(|(w, v)| Bits::new(*w, *v)).collect::<Vec<_>>();
    let (inputs, mut slots) = (bits(inputs), bits(outputs));
    object.call(method, &inputs, &mut slots, Time::ZERO);
    for (slot, (width, _)) in slots.iter().zip(outputs) {
        assert_eq!(slot.width(), *width);
    }
    slots.iter().map(Bits::low_u128).collect()
}

#[test]
fn an_average_starts_with_the_first_sample_and_follows() {
    let mut ewma = made("ewma", &[(8, 1)]);
    assert_eq!(call(&mut *ewma, 1, &[], &[(32, 0)]), [0], "nothing was sampled");
    let mut update = |sample| call(&mut *ewma, 0, &[(32, sample)], &[(32, 0)])[0];
    assert_eq!([update(100), update(0), update(0)], [100, 50, 25]);
    assert_eq!(call(&mut *ewma, 1, &[], &[(32, 0)]), [25], "reading changes nothing");
    assert_eq!(call(&mut *ewma, 1, &[], &[(32, 0)]), [25]);
}

#[test]
fn an_average_without_weight_is_the_last_sample_and_the_largest_fits() {
    let mut last = made("ewma", &[(8, 0)]);
    let mut slow = made("ewma", &[(8, 32)]);
    for sample in [7, u128::from(u32::MAX), 3] {
        assert_eq!(call(&mut *last, 0, &[(32, sample)], &[(32, 0)]), [sample]);
    }
    for _ in 0..3 {
        let all_ones = u128::from(u32::MAX);
        assert_eq!(call(&mut *slow, 0, &[(32, all_ones)], &[(32, 0)]), [all_ones]);
    }
}

#[test]
fn round_trips_as_in_the_manual_page() {
    let mut rtt = made("rtt", &[(32, 1000)]);
    assert_eq!(call(&mut *rtt, 1, &[], &[(1, 0)]), [0], "nothing is known");
    let mut sample = |time| call(&mut *rtt, 0, &[(32, time)], &[(32, 0); 3]);
    assert_eq!(sample(800), [800, 400, 2400]);
    assert_eq!(sample(800), [800, 300, 2000]);
    assert_eq!(call(&mut *rtt, 1, &[], &[(1, 0)]), [1]);
    let mut quick = made("rtt", &[(32, 1000)]);
    assert_eq!(call(&mut *quick, 0, &[(32, 8)], &[(32, 0); 3]), [8, 4, 1000], "not less than the least");
    let mut slow = made("rtt", &[(32, 0)]);
    let most = u128::from(u32::MAX);
    assert_eq!(call(&mut *slow, 0, &[(32, most)], &[(32, 0); 3]), [most, most / 2, most]);
}

#[test]
fn the_crcs_of_the_sd_specification() {
    let mut crc = made("crc7", &[]);
    let mut of = |width, data| call(&mut *crc, 0, &[(width, data)], &[(7, 0)])[0];
    // CMD0, CMD17, and the answer to the latter (Physical Layer Specification 4.5).
    assert_eq!(of(40, 0x40_0000_0000), 0b100_1010);
    assert_eq!(of(40, 0x51_0000_0000), 0b010_1010);
    assert_eq!(of(40, 0x11_0000_0900), 0b011_0011);
    // The check value of CRC-7/MMC: of the digits 1 to 9.
    assert_eq!(of(72, 0x31_3233_3435_3637_3839), 0x75);
    assert_eq!((of(1, 0), of(1, 1)), (0, 9));
}

#[test]
fn division_gives_the_quotient_and_the_rest() {
    let mut divide = made("divide", &[]);
    let mut of =
        |number, by| call(&mut *divide, 0, &[(64, number), (32, by)], &[(64, number), (32, 0), (1, 0)]);
    assert_eq!(of(17, 5), [3, 2, 1]);
    assert_eq!(of(u128::from(u64::MAX), 1), [u128::from(u64::MAX), 0, 1]);
    assert_eq!(of(17, 0), [17, 0, 0], "by zero nothing changes");
}

#[test]
fn wrong_arguments_are_refused() {
    let why = |name: &str, args: &[Bits]| (registry().value(name).unwrap().make)(args).err().map(|e| e.0);
    assert_eq!(
        why("ewma", &[Bits::new(8, 33)]).as_deref(),
        Some("`shift` of `ewma` is 32 at most, and 33 was given")
    );
    assert_eq!(why("ewma", &[]).as_deref(), Some("`ewma` takes 1 argument, shift, and was given 0"));
    assert_eq!(
        why("rtt", &[Bits::new(64, 1 << 40)]).as_deref(),
        Some("`least` of `rtt` is bit<32>, and 1099511627776 does not fit")
    );
}

#[test]
fn declarations_as_programs_write_them() {
    let shown: Vec<String> =
        registry().value_names().map(|name| registry().value(name).unwrap().declaration(name)).collect();
    let wanted = [
        "@value_extern(\"crc7\") extern bit<7> crc7(in bit<N>);",
        "@value_extern(\"divide\") extern bool divide(inout bit<64>, in bit<32>, out bit<32>);",
        "@value_extern(\"ewma\") extern Name { Name(...); bit<32> update(in bit<32>); @noSideEffects bit<32> value(); }",
        "@value_extern(\"keyed-register\") extern Name { Name(...); void write(in bit<N>, in bit<N>); @noSideEffects bit<N> read(in bit<N>); }",
        "@value_extern(\"rtt\") extern Name { Name(...); void sample(in bit<32>, out struct { bit<32>, bit<32>, bit<32> }); @noSideEffects bool known(); }",
    ];
    assert_eq!(shown, wanted);
}

#[test]
fn a_keyed_register_gives_what_was_written_for_the_key() {
    let mut register = made("keyed-register", &[(32, 2)]);
    let (write, read) = (0, 1);
    call(&mut *register, write, &[(104, 7), (32, 3)], &[]);
    assert_eq!(call(&mut *register, read, &[(104, 7)], &[(32, 0)]), [3]);
    assert_eq!(call(&mut *register, read, &[(104, 8)], &[(32, 0)]), [0], "nothing was written");
    call(&mut *register, write, &[(104, 8), (32, 4)], &[]);
    call(&mut *register, write, &[(104, 9), (32, 5)], &[]);
    assert_eq!(call(&mut *register, read, &[(104, 9)], &[(32, 0)]), [0], "it is full");
    call(&mut *register, write, &[(104, 7), (32, 0)], &[]);
    call(&mut *register, write, &[(104, 9), (32, 5)], &[]);
    assert_eq!(call(&mut *register, read, &[(104, 9)], &[(32, 0)]), [5], "a cell of 0 is free");
    let memory = register.snapshot();
    let mut other = made("keyed-register", &[(32, 2)]);
    other.restore(&memory).expect("its own memory");
    assert_eq!(call(&mut *other, read, &[(104, 8)], &[(32, 0)]), [4]);
    assert!(made("keyed-register", &[(32, 1)]).restore(&memory).is_err(), "more cells than it has");
}
