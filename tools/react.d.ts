/** What js/react uses of React, so that the package compiles without it. */
declare module 'react' {
  export function useCallback<T>(callback: T, dependencies: readonly unknown[]): T;
  // biome-ignore lint/suspicious/noConfusingVoidType: an effect gives a function that undoes it, or nothing
  export function useEffect(effect: () => void | (() => void), dependencies?: readonly unknown[]): void;
  export function useState<T>(initial: () => T): [T, (value: T) => void];
  export function useSyncExternalStore<T>(
    subscribe: (changed: () => void) => () => void,
    snapshot: () => T,
    serverSnapshot: () => T,
  ): T;
}
