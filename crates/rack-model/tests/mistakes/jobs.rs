//! Mistakes in jobs.

use super::check_with;
use expect_test::expect;

#[test]
fn a_job_names_its_file() {
    check_with(
        "[[job]]\nstart = \"1ms\"\n[[job]]\nfile = \"a.job\"\npatience = \"0ms\"\n[[job]]\nfiel = \"a.job\"\nfile = 3\n",
        expect![[r#"
            error[P4R0604]: `file` is missing
              --> RACK.toml:16:1
               |
            16 | [[job]]
               | ^^^^^^^ this job has no `file`
               |
               = help: for example: `file = "words.job"`

            error[P4R0605]: a duration of zero
              --> RACK.toml:20:12
               |
            20 | patience = "0ms"
               |            ^^^^^ must be more than 0

            error[P4R0602]: unknown key `fiel`
              --> RACK.toml:22:1
               |
            22 | fiel = "a.job"
               | ^^^^ this job has no such key
               |
               = help: did you mean `file`?

            error[P4R0603]: expected a string, found an integer
              --> RACK.toml:23:8
               |
            23 | file = 3
               |        ^ this is an integer
        "#]],
    );
}
