//! Configurations of the model, and mistakes.

/// Key, row and value in each lane.
pub type Packet = [Option<(char, u8, u32)>; 2];

/// A configuration.
#[derive(Clone, Debug)]
pub struct Model {
    /// By round and mapper.
    pub data: Vec<Vec<Vec<Packet>>>,
    pub window: u8,
    pub banks: u8,
    pub rows: u8,
    pub restarts: u8,
    pub aborts: u8,
    /// Another reducer and other mappers follow at any step, with other pairs.
    pub replaces: u8,
    /// Each reducer may ask the banks again at any step, so often.
    pub again: u8,
    /// Answers are lost.
    pub loses: bool,
    pub evicts: bool,
    /// The switch answers with the lanes that it has not folded, and the mapper sends them past it.
    pub answers: bool,
    /// Keys have a place in each of two rows: pairs of a round's packet that the switch answers as not folded are sent to the other row, in a packet with the
    /// last cell of a window, which no packet of a round has. The window is larger than 1.
    pub moves: bool,
    /// A request is for all rows: it passes the switch once for each.
    pub passes: bool,
    /// A READ of a row is answered, and a copy of it goes on with the next row.
    pub copies: bool,
    /// Packets that carry pairs to the reducer may come without them.
    pub trims: bool,
    /// Packet `n` of a round is row `n`, and slots have no keys: all packets of a row belong to the keys of the first one. Rounds have as many packets as rows.
    pub dense: bool,
    pub mutant: Option<Mutant>,
}

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A counter of packets in place of a cell with the number; duplicates are dropped.
    Progress,
    /// The same; duplicates are acknowledged.
    ProgressAnswered,
    DuplicatesDropped,
    /// A bit in place of the number.
    Parity,
    /// A duplicate sends all its lanes on.
    MapForgotten,
    ReadClears,
    NoBoot,
    ClearOfAnyGeneration,
    AbortWithoutClose,
    ShadowForgotten,
    OverflowsCountedTwice,
    /// A round is committed before the one before it.
    CommitOutOfOrder,
    /// A bank gets its next generation before it is clear.
    BankNotCleared,
    /// A commit after the first row.
    OneRowRead,
    /// END before the lanes that were left are known.
    EndBeforeLeft,
    /// The reducer takes an END though packets past the switch are missing.
    EndUncounted,
    /// The lanes of a repeated answer are sent once more.
    LeftTwice,
    /// Only the first pass of a request looks at boot number and generation.
    PassUnchecked,
    /// A mapper gets the START of a round before its END of the one before, and does not learn that it is to end that one.
    StartBeforeEnd,
    /// A mapper begins a generation, though it has not begun the one before that is to go on.
    StartOutOfOrder,
    /// Packets of a round take the cells of packets of the round before that are not acknowledged.
    CellsTaken,
    /// A packet for the other row takes the cell of one that may come yet in the round before.
    KeptCellsTaken,
    /// Packets for the other row do not wait for the one before them, which has the same cell.
    MovedTogether,
    /// An attempt is doomed, and the one after it is not.
    AbortOfOne,
    /// The mapper of an array leaves out rows that it does not have.
    EmptyLeftOut,
    /// Only the rows of a shorter array are cleared.
    OneRowCleared,
    /// A mapper takes the report of a trimmed packet for its acknowledgement.
    TrimmedAcknowledged,
    /// The reducer counts a packet that came without its pairs.
    TrimmedCounted,
    /// The reducer takes a row that came without its pairs for an empty one.
    TrimmedRowRead,
    /// A reducer takes the answer to the question of an earlier one for its own.
    NonceForgotten,
    /// After a restart, a run has the number of an earlier one.
    RunAgain,
    /// The attempts of each run begin with 1.
    AttemptsAgain,
    /// Slots are not emptied before the first round of a run.
    PurgeForgotten,
    /// Only the first bank is asked.
    OneBankAsked,
    /// A mapper takes the START of an earlier run.
    StartOfAnyRun,
    /// A bank that another run has opened meanwhile is not noticed.
    LateOpenIgnored,
}

impl Model {
    pub fn new(data: Vec<Vec<Vec<Packet>>>) -> Model {
        Model {
            data,
            window: 1,
            banks: 1,
            rows: 1,
            restarts: 0,
            aborts: 0,
            replaces: 0,
            again: 0,
            loses: false,
            evicts: false,
            answers: false,
            moves: false,
            passes: false,
            copies: false,
            trims: false,
            dense: false,
            mutant: None,
        }
    }

    pub fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Requests for all rows.
    pub fn requests(&self) -> u8 {
        if self.passes { 1 } else { self.rows }
    }

    /// READs for all rows.
    pub fn reads(&self) -> u8 {
        if self.copies { 1 } else { self.requests() }
    }

    /// True for the number of a packet for the other row.
    pub fn is_moved(&self, seq: u8) -> bool {
        self.moves && seq.is_multiple_of(self.window)
    }

    /// Cells of packets of rounds.
    pub fn cells(&self) -> u8 {
        if self.moves { self.window - 1 } else { self.window }
    }

    /// The packets of a mapper in a round of a run.
    pub fn data(&self, run: u8, round: u8, mapper: usize) -> impl Iterator<Item = Packet> + '_ {
        let of_run = move |(key, row, value)| (key, row, value + 1000 * u32::from(run));
        let all = self.data[usize::from(round)][mapper].iter();
        all.map(move |packet| packet.map(|pair| pair.map(of_run)))
    }

    /// The same, as it sends them.
    pub fn packets(&self, run: u8, round: u8, mapper: usize) -> Vec<Packet> {
        let all = self.data(run, round, mapper);
        all.filter(|packet| !self.is(Mutant::EmptyLeftOut) || *packet != [None; 2]).collect()
    }

    pub fn mappers(&self) -> usize {
        self.data[0].len()
    }

    /// The upper half of generations of the first run after a restart of the switch: a hash of the boot number, here one that falls.
    pub fn first_run(&self, boot: u8) -> u8 {
        match self.replaces {
            0 => 0,
            _ if self.is(Mutant::RunAgain) => 6,
            _ => 9 - 3 * boot,
        }
    }
}
