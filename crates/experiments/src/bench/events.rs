//! Cycles and instructions, where the kernel lets them be counted (`perf_event_open`): those of user code.

/// Processor events of a thread or process.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Events {
    /// Cycles.
    pub cycles: u64,
    /// Instructions that it has retired.
    pub instructions: u64,
}

/// Counts from its making on.
pub struct Counters(#[cfg(target_os = "linux")] [perf_event::Counter; 2]);

#[cfg(target_os = "linux")]
impl Counters {
    /// For a process, or the thread that calls; the error says why nothing can be counted.
    pub fn start(process: Option<u32>) -> Result<Counters, String> {
        use perf_event::{Builder, events::Hardware};
        let counter = |kind: Hardware| {
            let builder = Builder::new().kind(kind);
            let builder = match process {
                Some(process) => builder.observe_pid(process as i32),
                None => builder.observe_self(),
            };
            let mut counter = builder.build().map_err(|error| reason(&error))?;
            counter.enable().map_err(|error| format!("the counter does not start: {error}"))?;
            Ok::<_, String>(counter)
        };
        Ok(Counters([counter(Hardware::CPU_CYCLES)?, counter(Hardware::INSTRUCTIONS)?]))
    }

    /// Events so far.
    pub fn read(&mut self) -> Option<Events> {
        let [cycles, instructions] = &mut self.0;
        Some(Events { cycles: cycles.read().ok()?, instructions: instructions.read().ok()? })
    }
}

/// Reason why the kernel gives no counter.
#[cfg(target_os = "linux")]
fn reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "the machine shows no hardware counters".to_string(),
        ErrorKind::PermissionDenied => {
            "they need administrator rights (`sysctl kernel.perf_event_paranoid`)".to_string()
        }
        _ => format!("perf_event_open: {error}"),
    }
}

#[cfg(not(target_os = "linux"))]
impl Counters {
    /// There is nothing to count with.
    pub fn start(_process: Option<u32>) -> Result<Counters, String> {
        Err("only Linux provides them".to_string())
    }

    /// There is nothing to count with.
    pub fn read(&mut self) -> Option<Events> {
        None
    }
}
