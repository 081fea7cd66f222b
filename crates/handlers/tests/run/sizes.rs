//! Requests and responses of all small sizes arrive whole, and a response is empty before each call.

use super::{at, built_for, declared_in};
use dataplane_api::{NoMirrors, ValueExtern};
use handlers::Inline;
use std::fmt::Write;
use std::sync::Arc;

const SIZES: [usize; 15] = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50];

#[test]
fn requests_of_all_sizes_arrive_whole() {
    let (mut types, mut calls, mut source) =
        (String::new(), String::new(), "#include \"test.h\"\n".to_string());
    for size in SIZES {
        let fields: String = (0..size).map(|n| format!("bit<8> f{n}; ")).collect();
        let _ = writeln!(
            types,
            "struct q{size}_t {{ {fields}}}\nstruct r{size}_t {{ {fields}}}\n@remote(handler = \"echo{size}\") extern bool echo{size}(in q{size}_t q, out r{size}_t r);"
        );
        let _ = write!(calls, "q{size}_t q{size}; r{size}_t r{size}; echo{size}(q{size}, r{size}); ");
        let _ = writeln!(
            source,
            "int echo{size}(p4r_ctx *ctx, const q{size}_t *q, r{size}_t *r) {{
                (void)ctx;
                for (int i = 0; i < {size}; i++) if (((const uint8_t *)r)[i]) return P4R_DROP;
                memcpy(r, q, {size});
                return P4R_OK;
            }}"
        );
    }
    let program = super::PROGRAM.replace("enum bit<8>", &format!("{types}enum bit<8>"));
    let from = "request_t q; response_t r;\n    apply { count(q, r); }";
    assert!(program.contains(from), "{program}");
    let program = program.replace(from, &format!("apply {{ {calls} }}"));
    let handlers = declared_in(&program);
    assert_eq!(handlers.len(), SIZES.len());
    let built = built_for(&handlers, "sizes", &source);
    for handler in handlers {
        let size = handler.request.size;
        let mut one = Inline::new(&built, &Arc::new(handler), 1).expect("it starts");
        for turn in 0..3u8 {
            let request: Vec<u8> = (0..size as u8).map(|n| n ^ turn).collect();
            let mut outputs = vec![0xEE; size + 1];
            assert!(one.call_packed(0, &request, &mut outputs, &NoMirrors, at(1)));
            let expected: Vec<u8> = request.iter().copied().chain([1]).collect();
            assert_eq!(outputs, expected, "{size} bytes");
        }
    }
}
