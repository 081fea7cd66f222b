//! Lists of statements.

use super::Gen;

impl Gen {
    /// Up to `most` statements, in a scope of their own; as many as there is fuel for.
    pub(super) fn statements(&mut self, most: u32) {
        let places = self.scope.places.len();
        self.cx.depth += 1;
        let mut ends = false;
        for _ in 0..self.between(1, most.max(1)) {
            if self.cx.fuel == 0 {
                break;
            }
            self.cx.fuel -= 1;
            ends = self.statement();
            if ends {
                break;
            }
        }
        if !ends {
            self.log_values();
        }
        self.cx.depth -= 1;
        self.scope.places.truncate(places);
    }

    /// `head {`, statements, `}`
    pub(super) fn block(&mut self, head: &str, most: u32) {
        self.out.open(format!("{head} {{"));
        self.statements(most);
        self.out.close("}");
    }
}
