//! No text makes the reader panic.

use base_time::Rng;
use p4_stf::parse;

const GOOD: &str = "packet 0 00 0a0B\nexpect 3 00*f 1 $\nadd i.t 10 h[0].f:0x1* \"k\":0b01 k:10/8 a(a:1, b:0xff) = e\n\
    setdefault t a(x:1)\nremove all\ncheck_counter c($e) packets >= 7\nmeter_set_rates m 1 0.000005:4 2:5\n";

#[test]
fn changed_texts_are_read_or_refused() {
    let mut rng = Rng::new(1);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..3000 {
        let mut chars: Vec<char> = GOOD.chars().collect();
        for _ in 0..=rng.index(4) {
            let at = rng.index(chars.len());
            match rng.below(4) {
                0 => chars.truncate(at + 1),
                1 => {
                    chars[at] =
                        *rng.pick(&['é', '"', '*', '$', ':', '.', '[', '0', ' ', '\n', '\u{0}', '9']).unwrap()
                }
                2 => chars.insert(at, char::from(rng.next_u8() & 0x7f)),
                _ => {
                    let copy = chars[at..].to_vec();
                    chars.extend(copy);
                }
            }
        }
        let text: String = chars.into_iter().collect();
        let (file, problems) = parse(&text, 1);
        read += file.statements.len();
        refused += problems.len();
    }
    assert!(read > 1000 && refused > 1000, "{read} {refused}");
}
