//! 18xx: what of TNA and T2NA does not run.

codes! {
    /// Several pipes, several parsers, or a ghost thread.
    PIPES = 1801,
    /// An extern, or a method of one, that does not run.
    EXTERN = 1802,
    /// A construct of TNA that v1model has not.
    CONVERT = 1803,
}
