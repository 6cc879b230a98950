# Runs what /etc/batch asks for, for the one who started this system, and ends it.
if [ -e /dev/macadamia/batch ]; then
    exec 9> /dev/macadamia/batch
    printf 'run /etc/batch/command' >&9
    while read -r path; do
        printf 'get %s' "$path" >&9
    done < /etc/batch/get
else
    # Linux alone: the console has to do.
    echo 'batch begins'
    sh /etc/batch/command < /dev/null
    echo "batch ends: $?"
fi
poweroff -f
