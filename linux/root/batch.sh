# Runs what /etc/batch asks for, for the one who started this system, and ends it.
exec 9> /dev/macadamia/batch
printf 'run /etc/batch/command' >&9
while read -r path; do
    printf 'get %s' "$path" >&9
done < /etc/batch/get
poweroff -f
