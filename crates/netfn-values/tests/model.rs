//! Random calls against exact models that keep the history only; the memory moves to another instance midway.

use base_bits::{BitReader, BitWriter, Bits};
use base_time::{Rng, Time};
use dataplane_api::{Registry, ValueExtern, ValueOffer};

fn offer(name: &str) -> ValueOffer {
    let mut registry = Registry::default();
    netfn_values::register(&mut registry);
    registry.value(name).expect("it is offered").clone()
}

fn moved(offer: &ValueOffer, args: &[Bits], object: Box<dyn ValueExtern>) -> Box<dyn ValueExtern> {
    let memory = object.snapshot();
    let mut other = (offer.make)(args).unwrap();
    other.restore(&memory).unwrap();
    assert_eq!(other.snapshot(), memory);
    other
}

fn calls(object: &mut dyn ValueExtern, method: usize, inputs: &[u64], widths: &[u32]) -> Vec<u64> {
    let inputs: Vec<Bits> = inputs.iter().map(|v| Bits::new(32, u128::from(*v))).collect();
    let mut outputs: Vec<Bits> = widths.iter().map(|w| Bits::zero(*w)).collect();
    object.call(method, &inputs, &mut outputs, Time::ZERO);
    outputs.iter().map(Bits::low_u64).collect()
}

/// Mostly small samples, now and then the largest.
fn sample(rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0 => u64::from(u32::MAX) - rng.below(3),
        1 => 0,
        _ => rng.below(5000),
    }
}

/// The average of all samples by definition, exactly: with 2^shift as the denominator of each step, in fractions of 2^-64.
#[test]
fn an_average_is_that_of_its_history() {
    let ewma = offer("ewma");
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let shift = rng.below(20) as u32;
        let args = [Bits::new(8, shift.into())];
        let mut object = (ewma.make)(&args).unwrap();
        let mut history: Vec<u64> = vec![];
        for _ in 0..40 {
            if rng.chance(1, 3) {
                let before = object.snapshot();
                let value = calls(&mut *object, 1, &[], &[32])[0];
                assert!((value as f64 - mean(&history, shift)).abs() <= 1.01, "seed {seed}: {history:?}");
                assert_eq!(object.snapshot(), before, "reading leaves the memory as it is");
            } else {
                history.push(sample(&mut rng));
                let value = calls(&mut *object, 0, &[history[history.len() - 1]], &[32])[0];
                assert!((value as f64 - mean(&history, shift)).abs() <= 1.01, "seed {seed}: {history:?}");
            }
            if rng.chance(1, 6) {
                object = moved(&ewma, &args, object);
            }
        }
    }
}

fn mean(history: &[u64], shift: u32) -> f64 {
    let Some((first, rest)) = history.split_first() else { return 0.0 };
    let weight = 0.5f64.powi(shift as i32);
    rest.iter().fold(*first as f64, |mean, sample| mean + (*sample as f64 - mean) * weight)
}

/// RFC 6298 §2, in floating point.
#[test]
fn round_trips_are_estimated_as_the_rfc_says() {
    let rtt = offer("rtt");
    let mut moves = 0;
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let least = rng.below(2000);
        let args = [Bits::new(32, least.into())];
        let mut object = (rtt.make)(&args).unwrap();
        let mut model: Option<(f64, f64)> = None;
        for _ in 0..40 {
            assert_eq!(calls(&mut *object, 1, &[], &[1]), [u64::from(model.is_some())]);
            let measured = rng.below(100_000) as f64;
            model = Some(match model {
                None => (measured, measured / 2.0),
                Some((srtt, rttvar)) => {
                    (0.875 * srtt + 0.125 * measured, 0.75 * rttvar + 0.25 * (srtt - measured).abs())
                }
            });
            let (srtt, rttvar) = model.unwrap();
            let wanted = [srtt, rttvar, (srtt + 4.0 * rttvar).max(least as f64)];
            let found = calls(&mut *object, 0, &[measured as u64], &[32, 32, 32]);
            // Each number is cut to fractions of 1/8 and 1/4, whose errors stay below one, and four of one.
            for ((found, wanted), most) in found.iter().zip(wanted).zip([1.1, 2.1, 9.5]) {
                assert!((*found as f64 - wanted).abs() <= most, "seed {seed}: {found} for {wanted}");
            }
            if rng.chance(1, 6) {
                object = moved(&rtt, &args, object);
                moves += 1;
            }
        }
    }
    assert!(moves > 500);
}

/// Bit by bit, as a shift register.
#[test]
fn crcs_of_any_width_are_those_of_a_shift_register() {
    let mut object = (offer("crc7").make)(&[]).unwrap();
    for seed in 0..2000 {
        let mut rng = Rng::new(seed);
        let width = rng.between(1, 300) as u32;
        let bytes = rng.bytes(width.div_ceil(8) as usize);
        let data = BitReader::new(&bytes).read(width).unwrap();
        let mut register = 0u32;
        for at in (0..width).rev() {
            let feedback = (register >> 6 & 1) ^ u32::from(data.bit(at));
            register = (register << 1 & 0x7f) ^ (feedback * 0b1001);
        }
        let mut crc = [Bits::zero(7)];
        object.call(0, std::slice::from_ref(&data), &mut crc, Time::ZERO);
        assert_eq!(crc[0].low_u64(), u64::from(register), "seed {seed}: {width} bits");
        // The CRC of data with its CRC after is 0.
        let mut both = BitWriter::new();
        both.push(&data);
        both.push(&crc[0]);
        let whole = BitReader::new(&both.finish()).read(width + 7).unwrap();
        object.call(0, &[whole], &mut crc, Time::ZERO);
        assert_eq!(crc[0].low_u64(), 0);
    }
}
