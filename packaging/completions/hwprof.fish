# Completion of hwprof in fish. It asks hwprof itself (`hwprof --complete`), which knows its commands,
# their options and values, and the events of this machine: nothing here is to be kept in step.

function __hwprof_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program --complete $words "$current" 2>/dev/null)
        switch $line
            case ':file'
                set -l before (string match -r -- '^--[^=]*=' $current)
                for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' $current) file)
                    echo -- "$before$path"
                end
            case ':command *'
                # Of fish the first word is number 1; ours is 0.
                set -l from (math (string replace ':command ' '' $line) + 1)
                set -l command (string escape -- $words[$from..-1])
                complete -C (string join ' ' -- $command $current)
            case ':*'
            case '*'
                echo -- $line
        end
    end
end

complete -c hwprof -f -a '(__hwprof_complete)'
