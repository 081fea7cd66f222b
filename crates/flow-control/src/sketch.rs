//! Detection of flows with many packets: a count-min sketch that a helper keeps of the flows that it processes (Cormode and Muthukrishnan 2005), in windows.
//!
//! ```text
//! count("a") ──> row 0  [ .  .  7  . ]      the estimate is the least cell: never less than the packets of the flow,
//!                row 1  [ 5  .  .  . ]      and more by at most 2 N / COLUMNS, but for 1 flow in 16, with N packets in all
//!                row 2  [ .  .  .  9 ]
//!                row 3  [ .  8  .  . ]      at the end of a window each cell is halved
//! ```
//!
//! A flow is noted once a window, when its estimate reaches the threshold. Memory is fixed: cells, and [`MOST_NOTED`] flows.
//! The picture has the default [`Shape`].

use std::collections::BTreeMap;

/// Size of a sketch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Rows; each has a hash of its own. At least 1.
    pub rows: usize,
    /// Cells of a row. At least 1.
    pub columns: usize,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { rows: 4, columns: 1 << 14 }
    }
}

/// Flows that are noted in a window at most.
pub const MOST_NOTED: usize = 1024;

/// Counts of a window, and what is left of those before.
#[derive(Clone, Debug)]
pub struct Sketch<F> {
    shape: Shape,
    cells: Vec<u32>,
    /// No cell has more.
    most: u32,
    threshold: u64,
    /// Flows that have reached the threshold in this window, with their last estimates.
    noted: BTreeMap<F, u64>,
}

impl<F: Clone + Ord> Sketch<F> {
    /// Nothing is counted. `threshold`: packets from which a flow is noted.
    pub fn new(shape: Shape, threshold: u64) -> Self {
        let shape = Shape { rows: shape.rows.max(1), columns: shape.columns.max(1) };
        let cells = vec![0; shape.rows * shape.columns];
        Self { shape, cells, most: 0, threshold: threshold.max(1), noted: BTreeMap::new() }
    }

    /// A packet of a flow; `name` are bytes by which flows differ.
    pub fn count(&mut self, flow: &F, name: &[u8]) {
        self.add(flow, name, 1);
    }

    /// So many packets of a flow.
    pub fn add(&mut self, flow: &F, name: &[u8], packets: u64) {
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        let (Shape { rows, columns }, mut least) = (self.shape, u32::MAX);
        for row in 0..rows {
            let cell = &mut self.cells[row * columns + column(row, name, columns)];
            *cell = cell.saturating_add(packets);
            self.most = self.most.max(*cell);
            least = least.min(*cell);
        }
        let estimate = u64::from(least);
        if let Some(known) = self.noted.get_mut(flow) {
            *known = estimate;
        } else if estimate >= self.threshold && self.noted.len() < MOST_NOTED {
            self.noted.insert(flow.clone(), estimate);
        }
    }

    /// Packets of a flow in this window, and a share of those before: at least so many as there were in this window.
    pub fn estimate(&self, name: &[u8]) -> u64 {
        let Shape { rows, columns } = self.shape;
        let cells = (0..rows).map(|row| self.cells[row * columns + column(row, name, columns)]);
        cells.min().unwrap_or(0).into()
    }

    /// The window ends: the flows that have reached the threshold, with their estimates. `threshold` is that of the next window.
    pub fn end_window(&mut self, threshold: u64) -> Vec<(F, u64)> {
        if self.most > 0 {
            self.cells.iter_mut().for_each(|cell| *cell /= 2);
            self.most /= 2;
        }
        self.threshold = threshold.max(1);
        std::mem::take(&mut self.noted).into_iter().collect()
    }
}

/// FNV-1a with another start for each row, and its bits mixed: rows of a linear hash would collide together.
fn column(row: usize, name: &[u8], columns: usize) -> usize {
    let start = 0xcbf2_9ce4_8422_2325 ^ (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = name.iter().fold(start, step);
    for _ in 0..2 {
        hash = (hash ^ (hash >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (hash >> 32) as usize % columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_time::Rng;

    fn count(sketch: &mut Sketch<u32>, flow: u32, times: u32) {
        (0..times).for_each(|_| sketch.count(&flow, &flow.to_be_bytes()));
    }

    #[test]
    fn a_flow_is_noted_once_a_window_when_it_reaches_the_threshold() {
        let mut sketch = Sketch::new(Shape::default(), 4);
        count(&mut sketch, 1, 3);
        count(&mut sketch, 2, 5);
        assert_eq!(sketch.end_window(4), [(2, 5)]);
        // Halves of 3 and 5 are left.
        count(&mut sketch, 1, 2);
        count(&mut sketch, 2, 2);
        assert_eq!(sketch.end_window(8), [(2, 4)]);
        count(&mut sketch, 2, 5);
        assert_eq!(sketch.end_window(1), [], "the threshold has grown: 2 + 5 packets");
        assert_eq!(sketch.end_window(1), [], "without packets nothing is noted");
    }

    #[test]
    fn estimates_are_never_too_small_and_seldom_much_too_large() {
        let mut rng = Rng::new(35);
        let mut sketch = Sketch::new(Shape::default(), 1);
        let mut exact = vec![0u64; 60_000];
        let packets = 200_000u64;
        for _ in 0..packets {
            // Half of the packets are of a few flows.
            let flow = if rng.chance(1, 2) { rng.below(50) } else { rng.below(60_000) };
            exact[flow as usize] += 1;
            sketch.count(&(flow as u32), &(flow as u32).to_be_bytes());
        }
        let errors = exact.iter().enumerate().map(|(flow, exact)| {
            let estimate = sketch.estimate(&(flow as u32).to_be_bytes());
            assert!(estimate >= *exact, "flow {flow}");
            estimate - exact
        });
        let large = errors.filter(|error| *error > 2 * packets / Shape::default().columns as u64).count();
        assert!(large * 16 < exact.len(), "{large} of {} are far off", exact.len());
    }

    #[test]
    fn memory_is_bounded() {
        let mut sketch = Sketch::new(Shape::default(), 1);
        (0..5_000).for_each(|flow| count(&mut sketch, flow, 1));
        assert_eq!(sketch.end_window(1).len(), MOST_NOTED);
    }
}
