//! 10xx: what a class of devices cannot run, whatever its resources.

codes! {
    /// An operation that devices of the class lack.
    LACKING_OPERATION = 1001,
    /// A register array that a packet uses twice in one pass.
    SECOND_ACCESS = 1002,
    /// A register array whose new value depends on something that in turn depends on the array.
    CIRCULAR_ACCESS = 1003,
}
