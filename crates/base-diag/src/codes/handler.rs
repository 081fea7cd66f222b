//! 14xx: handlers in C.

codes! {
    /// A declaration with `@remote` that is no handler's.
    REMOTE = 1401,
    /// A handler without a usable source.
    HANDLER_SOURCE = 1402,
    /// A source that the C compiler refuses.
    HANDLER_BUILD = 1403,
    /// A handler that uses what handlers must not use.
    HANDLER_SYMBOL = 1404,
    /// A library that does not have the program's handlers.
    HANDLER_LIBRARY = 1405,
    /// No group and no device of the name that a handler gives.
    HANDLER_GROUP = 1406,
    /// A handler that crashed, or ran out of time.
    HANDLER_FAILED = 1407,
}
